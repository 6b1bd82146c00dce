// What common interfaces and abstract classes of .NET 8 ask of those who implement them. Parameters are named as .NET names them. Marks of nullable
// references are left out, because not every file knows them; members with a body of their own are left out, because nobody owes them.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Collections.Specialized;
using System.ComponentModel;
using System.IO;
using System.Linq.Expressions;
using System.Net.Http;
using System.Reflection;
using System.Runtime.Serialization;
using System.Text;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;
using System.Xml;
using System.Xml.Schema;

namespace System
{
    public interface IAsyncDisposable { ValueTask DisposeAsync(); }
    public interface ICloneable { object Clone(); }
    public interface IComparable { int CompareTo(object obj); }
    public interface IComparable<T> { int CompareTo(T other); }
    public interface ICustomFormatter { string Format(string format, object arg, IFormatProvider formatProvider); }
    public interface IDisposable { void Dispose(); }
    public interface IEquatable<T> { bool Equals(T other); }
    public interface IFormatProvider { object GetFormat(Type formatType); }
    public interface IFormattable { string ToString(string format, IFormatProvider formatProvider); }
    public interface ISpanFormattable : IFormattable { bool TryFormat(Span<char> destination, out int charsWritten, ReadOnlySpan<char> format, IFormatProvider provider); }
    public interface IObservable<T> { IDisposable Subscribe(IObserver<T> observer); }
    public interface IObserver<T> { void OnCompleted(); void OnError(Exception error); void OnNext(T value); }
    public interface IParsable<TSelf>
    {
        static abstract TSelf Parse(string s, IFormatProvider provider);
        static abstract bool TryParse(string s, IFormatProvider provider, out TSelf result);
    }
    public interface ISpanParsable<TSelf> : IParsable<TSelf>
    {
        static abstract TSelf Parse(ReadOnlySpan<char> s, IFormatProvider provider);
        static abstract bool TryParse(ReadOnlySpan<char> s, IFormatProvider provider, out TSelf result);
    }
    public interface IProgress<T> { void Report(T value); }
    public interface IServiceProvider { object GetService(Type serviceType); }
    public interface IAsyncResult { object AsyncState { get; } WaitHandle AsyncWaitHandle { get; } bool CompletedSynchronously { get; } bool IsCompleted { get; } }
}
namespace System.Collections
{
    public interface ICollection : IEnumerable { int Count { get; } bool IsSynchronized { get; } object SyncRoot { get; } void CopyTo(Array array, int index); }
    public interface IComparer { int Compare(object x, object y); }
    public interface IDictionaryEnumerator : IEnumerator { DictionaryEntry Entry { get; } object Key { get; } object Value { get; } }
    public interface IEnumerable { IEnumerator GetEnumerator(); }
    public interface IEnumerator { object Current { get; } bool MoveNext(); void Reset(); }
    public interface IEqualityComparer { bool Equals(object x, object y); int GetHashCode(object obj); }
    public interface IStructuralComparable { int CompareTo(object other, IComparer comparer); }
    public interface IStructuralEquatable { bool Equals(object other, IEqualityComparer comparer); int GetHashCode(IEqualityComparer comparer); }
    public interface IList : ICollection
    {
        bool IsFixedSize { get; }
        bool IsReadOnly { get; }
        object this[int index] { get; set; }
        int Add(object value);
        void Clear();
        bool Contains(object value);
        int IndexOf(object value);
        void Insert(int index, object value);
        void Remove(object value);
        void RemoveAt(int index);
    }
    public interface IDictionary : ICollection
    {
        bool IsFixedSize { get; }
        bool IsReadOnly { get; }
        ICollection Keys { get; }
        ICollection Values { get; }
        object this[object key] { get; set; }
        void Add(object key, object value);
        void Clear();
        bool Contains(object key);
        IDictionaryEnumerator GetEnumerator();
        void Remove(object key);
    }
}
namespace System.Collections.Generic
{
    public interface IAsyncEnumerable<T> { IAsyncEnumerator<T> GetAsyncEnumerator(CancellationToken cancellationToken = default); }
    public interface IAsyncEnumerator<T> : IAsyncDisposable { T Current { get; } ValueTask<bool> MoveNextAsync(); }
    public interface IComparer<T> { int Compare(T x, T y); }
    public interface IEnumerable<T> : IEnumerable { IEnumerator<T> GetEnumerator(); }
    public interface IEnumerator<T> : IDisposable, IEnumerator { T Current { get; } }
    public interface IEqualityComparer<T> { bool Equals(T x, T y); int GetHashCode(T obj); }
    public interface IReadOnlyCollection<T> : IEnumerable<T> { int Count { get; } }
    public interface IReadOnlyList<T> : IReadOnlyCollection<T> { T this[int index] { get; } }
    public interface ICollection<T> : IEnumerable<T>
    {
        int Count { get; }
        bool IsReadOnly { get; }
        void Add(T item);
        void Clear();
        bool Contains(T item);
        void CopyTo(T[] array, int arrayIndex);
        bool Remove(T item);
    }
    public interface IList<T> : ICollection<T>
    {
        T this[int index] { get; set; }
        int IndexOf(T item);
        void Insert(int index, T item);
        void RemoveAt(int index);
    }
    public interface IDictionary<TKey, TValue> : ICollection<KeyValuePair<TKey, TValue>>
    {
        ICollection<TKey> Keys { get; }
        ICollection<TValue> Values { get; }
        TValue this[TKey key] { get; set; }
        void Add(TKey key, TValue value);
        bool ContainsKey(TKey key);
        bool Remove(TKey key);
        bool TryGetValue(TKey key, out TValue value);
    }
    public interface IReadOnlyDictionary<TKey, TValue> : IReadOnlyCollection<KeyValuePair<TKey, TValue>>
    {
        IEnumerable<TKey> Keys { get; }
        IEnumerable<TValue> Values { get; }
        TValue this[TKey key] { get; }
        bool ContainsKey(TKey key);
        bool TryGetValue(TKey key, out TValue value);
    }
    public interface IReadOnlySet<T> : IReadOnlyCollection<T>
    {
        bool Contains(T item);
        bool IsProperSubsetOf(IEnumerable<T> other);
        bool IsProperSupersetOf(IEnumerable<T> other);
        bool IsSubsetOf(IEnumerable<T> other);
        bool IsSupersetOf(IEnumerable<T> other);
        bool Overlaps(IEnumerable<T> other);
        bool SetEquals(IEnumerable<T> other);
    }
    public interface ISet<T> : ICollection<T>
    {
        bool Add(T item);
        void ExceptWith(IEnumerable<T> other);
        void IntersectWith(IEnumerable<T> other);
        bool IsProperSubsetOf(IEnumerable<T> other);
        bool IsProperSupersetOf(IEnumerable<T> other);
        bool IsSubsetOf(IEnumerable<T> other);
        bool IsSupersetOf(IEnumerable<T> other);
        bool Overlaps(IEnumerable<T> other);
        bool SetEquals(IEnumerable<T> other);
        void SymmetricExceptWith(IEnumerable<T> other);
        void UnionWith(IEnumerable<T> other);
    }
    public abstract class Comparer<T> { public abstract int Compare(T x, T y); }
    public abstract class EqualityComparer<T> { public abstract bool Equals(T x, T y); public abstract int GetHashCode(T obj); }
}
namespace System.Collections.ObjectModel
{
    public abstract class KeyedCollection<TKey, TItem> { protected abstract TKey GetKeyForItem(TItem item); }
}
namespace System.Collections.Specialized
{
    public interface INotifyCollectionChanged { event NotifyCollectionChangedEventHandler CollectionChanged; }
}
namespace System.ComponentModel
{
    public interface IDataErrorInfo { string Error { get; } string this[string columnName] { get; } }
    public interface IEditableObject { void BeginEdit(); void CancelEdit(); void EndEdit(); }
    public interface INotifyDataErrorInfo { bool HasErrors { get; } event EventHandler<DataErrorsChangedEventArgs> ErrorsChanged; IEnumerable GetErrors(string propertyName); }
    public interface INotifyPropertyChanged { event PropertyChangedEventHandler PropertyChanged; }
    public interface INotifyPropertyChanging { event PropertyChangingEventHandler PropertyChanging; }
}
namespace System.IO
{
    public abstract class Stream
    {
        public abstract bool CanRead { get; }
        public abstract bool CanSeek { get; }
        public abstract bool CanWrite { get; }
        public abstract long Length { get; }
        public abstract long Position { get; set; }
        public abstract void Flush();
        public abstract int Read(byte[] buffer, int offset, int count);
        public abstract long Seek(long offset, SeekOrigin origin);
        public abstract void SetLength(long value);
        public abstract void Write(byte[] buffer, int offset, int count);
    }
    public abstract class TextReader { }
    public abstract class TextWriter { public abstract Encoding Encoding { get; } }
}
namespace System.Linq
{
    public interface IGrouping<TKey, TElement> : IEnumerable<TElement> { TKey Key { get; } }
    public interface ILookup<TKey, TElement> : IEnumerable<IGrouping<TKey, TElement>> { int Count { get; } IEnumerable<TElement> this[TKey key] { get; } bool Contains(TKey key); }
}
namespace System.Net.Http
{
    public abstract class HttpMessageHandler { protected abstract Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken); }
    public abstract class HttpContent { protected abstract Task SerializeToStreamAsync(Stream stream, TransportContext context); protected abstract bool TryComputeLength(out long length); }
    public class DelegatingHandler { }
}
namespace System.Runtime.Serialization
{
    public interface ISerializable { void GetObjectData(SerializationInfo info, StreamingContext context); }
}
namespace System.Security.Cryptography
{
    public abstract class HashAlgorithm { protected abstract void HashCore(byte[] array, int ibStart, int cbSize); protected abstract byte[] HashFinal(); public abstract void Initialize(); }
}
namespace System.Text.Json.Serialization
{
    public abstract class JsonConverter<T>
    {
        public abstract T Read(ref Utf8JsonReader reader, Type typeToConvert, JsonSerializerOptions options);
        public abstract void Write(Utf8JsonWriter writer, T value, JsonSerializerOptions options);
    }
    public abstract class JsonConverterFactory
    {
        public abstract bool CanConvert(Type typeToConvert);
        public abstract JsonConverter CreateConverter(Type typeToConvert, JsonSerializerOptions options);
    }
}
namespace System.Threading.Tasks
{
    public abstract class TaskScheduler
    {
        protected abstract IEnumerable<Task> GetScheduledTasks();
        protected abstract void QueueTask(Task task);
        protected abstract bool TryExecuteTaskInline(Task task, bool taskWasPreviouslyQueued);
    }
}
namespace System.Windows.Input
{
    public interface ICommand { event EventHandler CanExecuteChanged; bool CanExecute(object parameter); void Execute(object parameter); }
}
namespace System.Xml
{
    public abstract class XmlResolver { public abstract object GetEntity(Uri absoluteUri, string role, Type ofObjectToReturn); }
}
namespace System.Xml.Serialization
{
    public interface IXmlSerializable { XmlSchema GetSchema(); void ReadXml(XmlReader reader); void WriteXml(XmlWriter writer); }
}
