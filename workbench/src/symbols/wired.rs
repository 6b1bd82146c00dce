//! Uses that a framework makes: a container makes a type that is registered with it and passes it where an interface is asked for; a mediator calls
//! the handler of what is sent. They are told by the line of the registration, and by the bases of the handler, and are never certain.

use super::index::{Symbols, simple_name};
use super::meaning::Candidate;
use super::outputs::{Outputs, SymbolError, file_label, type_label};
use super::overloads::parameter_types;
use super::unimplemented::name_and_arguments;
use super::usages::{Subject, Usages, Why, usages_of_all};
use engine::values::label::halves;
use producers::csharp::deps::Dependencies;
use producers::csharp::lexer::{Kind, Token, lex};
use producers::csharp::syntax;
use producers::csharp::types::symbol_of;
use std::collections::{BTreeMap, BTreeSet};

/// How methods end that register a type with a container, behind `Add` or `TryAdd`.
const LIFETIMES: [&str; 5] = ["Singleton", "Scoped", "Transient", "HostedService", "Enumerable"];

/// Interfaces of handlers, whose first type argument is what they handle.
const HANDLERS: [&str; 9] = [
    "IRequestHandler",
    "INotificationHandler",
    "IStreamRequestHandler",
    "ICommandHandler",
    "IQueryHandler",
    "IEventHandler",
    "IDomainEventHandler",
    "IConsumer",
    "IHandleMessages",
];

/// A registration: what is asked for, and what is made.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Registration {
    service: String,
    implementation: String,
}

/// Labels the uses that a framework makes among the uses of members, and adds those that bear no name of theirs.
///
/// # Errors
/// When outputs cannot be read.
pub fn label_wired<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    subjects: &[Subject],
    gaps: &BTreeSet<String>,
    found: &mut [Usages],
) -> Result<(), O::Error> {
    let mut handled: Vec<BTreeSet<String>> = Vec::with_capacity(subjects.len());
    let mut types: BTreeSet<String> = BTreeSet::new();
    for (subject, found) in subjects.iter().zip(found.iter()) {
        let is_called_through = found.possible.values().any(|why| matches!(why, Why::Through(_)));
        let messages = handled_by(outputs, symbols, subject)?;
        if subject.is_member() && (is_called_through || subject.name_in_uses() == ".ctor") {
            types.extend(halves(&subject.path).map(|(key, _)| key.to_owned()));
        }
        types.extend(messages.iter().cloned());
        handled.push(messages);
    }
    if types.is_empty() {
        return Ok(());
    }
    let keys: Vec<String> = types.into_iter().collect();
    let wanted: Vec<Subject> = keys.iter().map(|key| Subject::of_type(&Candidate::of(key, &[]))).collect();
    let uses: BTreeMap<&str, Usages> = keys
        .iter()
        .map(String::as_str)
        .zip(usages_of_all(outputs, symbols, &wanted, gaps)?)
        .collect();
    for ((subject, handled), found) in subjects.iter().zip(handled).zip(found) {
        let key = halves(&subject.path).map_or(subject.path.as_str(), |(key, _)| key);
        let own = simple_name(key);
        let mut services: BTreeMap<String, String> = BTreeMap::new();
        for place in uses.get(key).into_iter().flat_map(|uses| &uses.certain) {
            let Some(one) = registration(&place.text).filter(|one| one.implementation == own) else {
                continue;
            };
            if subject.name_in_uses() == ".ctor" && !found.certain.contains(place) {
                let why = format!("registered as {}, which a container makes", one.service);
                found.possible.insert(place.clone(), Why::Wired(why));
            }
            services
                .entry(one.service)
                .or_insert_with(|| format!("{}:{}", place.file, place.line));
        }
        for why in found.possible.values_mut() {
            let Why::Through(path) = why else { continue };
            let base = simple_name(halves(path).map_or(path.as_str(), |(key, _)| key)).to_owned();
            if let Some(at) = services.get(&base) {
                *why = Why::Wired(format!("registered as {base} at {at}"));
            }
        }
        for message in handled {
            let made = uses.get(message.as_str()).into_iter().flat_map(|uses| &uses.certain);
            let name = simple_name(&message);
            for place in made.filter(|place| makes(&place.text, name) && !found.certain.contains(*place)) {
                let why = format!("it handles {name}, which is made here");
                found.possible.insert(place.clone(), Why::Wired(why));
            }
        }
    }
    Ok(())
}

/// Types that a member handles, because its type is a handler of them.
fn handled_by<O: Outputs>(outputs: &mut O, symbols: &Symbols, subject: &Subject) -> Result<BTreeSet<String>, O::Error> {
    let word = subject.name_in_uses();
    let is_handler = subject.is_member() && (word.starts_with("Handle") || word == "Consume");
    let Some((key, _)) = halves(&subject.path).filter(|_| is_handler) else {
        return Ok(BTreeSet::new());
    };
    let Some(at) = symbols.find(key) else { return Ok(BTreeSet::new()) };
    let labels: Vec<String> = symbols.row(at)?.files.iter().map(|file| file_label(file, "syntax")).collect();
    let mut names: BTreeSet<String> = BTreeSet::new();
    for output in outputs.read(&labels)? {
        let Some(bytes) = output.bytes else { continue };
        let tree = syntax::decode(&bytes).map_err(|_| SymbolError::damaged().at_label(&output.label))?;
        for base in tree
            .types
            .iter()
            .filter(|decl| decl.has_symbol(symbol_of(key)))
            .flat_map(|decl| &decl.bases)
        {
            let (name, arguments) = name_and_arguments(base);
            if let Some(first) = arguments.first().filter(|_| HANDLERS.contains(&name)) {
                names.insert(name_and_arguments(first).0.to_owned());
            }
        }
    }
    let takes = |name: &String| {
        let members = subject.paths.iter().filter_map(|path| Some(parameter_types(halves(path)?.1)));
        members
            .into_iter()
            .any(|types| types.first().is_some_and(|first| name_and_arguments(first).0 == name))
    };
    names.retain(takes);
    if names.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mut messages = BTreeSet::new();
    for output in outputs.read(&[type_label(key, "deps")])? {
        let Some(bytes) = output.bytes else { continue };
        let deps: Dependencies = serde_json::from_slice(&bytes).map_err(|_| SymbolError::damaged().at_label(&output.label))?;
        let is_one = |key: &String| names.contains(simple_name(key)) && symbols.find(key).is_some();
        messages.extend(deps.evidence.into_keys().filter(is_one));
    }
    Ok(messages)
}

/// Whether a line makes a value of a type: `new Order(1)`, `new N.Order { … }`.
fn makes(line: &str, name: &str) -> bool {
    let ends = ['(', '{', ';', ')', ' '];
    line.split("new ")
        .skip(1)
        .any(|rest| name_and_arguments(rest.split(ends).next().unwrap_or_default()).0 == name)
}

/// What a line registers: `AddScoped<I, T>()`, `TryAddKeyedSingleton<T>(…)`, `AddTransient(typeof(I), typeof(T))`, `AddScoped<I>(_ => new T())`.
fn registration(line: &str) -> Option<Registration> {
    let tokens = lex(line).tokens;
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text(line));
    let at = (0..tokens.len()).find(|at| registers(word(*at), &tokens[*at]) && matches!(word(at + 1), "<" | "("))?;
    let mut named = match word(at + 1) {
        "<" => {
            let end = tokens[at + 1..]
                .iter()
                .position(|token| token.text(line) == "(")
                .map_or(tokens.len(), |end| at + 1 + end);
            let end = tokens.get(end).map_or(line.len(), |token| token.start as usize);
            let written = line[tokens[at].start as usize..end].trim();
            let (_, arguments) = name_and_arguments(written);
            arguments
                .iter()
                .map(|one| name_and_arguments(one).0.to_owned())
                .collect::<Vec<String>>()
        }
        _ => Vec::new(),
    };
    for made in at + 1..tokens.len() {
        let is_type = word(made) == "typeof" && word(made + 1) == "(";
        if named.len() < 2 && (is_type || word(made) == "new") {
            let mut last = made + 1 + usize::from(is_type);
            while word(last + 1) == "." {
                last += 2;
            }
            named.push(word(last).to_owned());
        }
    }
    let service = named.first()?.clone();
    let implementation = named.get(1).unwrap_or(&service).clone();
    Some(Registration { service, implementation })
}

/// Whether a word is a method that registers a type.
fn registers(word: &str, token: &Token) -> bool {
    let rest = word.strip_prefix("Try").unwrap_or(word);
    let rest = rest.strip_prefix("Add").map(|rest| rest.strip_prefix("Keyed").unwrap_or(rest));
    token.kind == Kind::Word && rest.is_some_and(|rest| LIFETIMES.contains(&rest))
}

#[cfg(test)]
mod tests {
    use super::super::resolve::{Options, resolve};
    use super::super::samples::Sample;
    use super::super::usages::usages;
    use super::*;

    #[test]
    fn lines_that_register_are_read() {
        for (line, service, implementation) in [
            ("services.AddScoped<IShop, Shop>();", "IShop", "Shop"),
            ("services.TryAddKeyedSingleton<N.IShop, N.Shop>(\"a\");", "IShop", "Shop"),
            ("services.AddHostedService<Worker>();", "Worker", "Worker"),
            ("builder.Services.AddTransient(typeof(IRepo<>), typeof(Repo<>));", "IRepo", "Repo"),
            ("services.AddSingleton<IShop>(of => new Shop(of.Get<int>()));", "IShop", "Shop"),
            ("services.AddScoped<IMap<int, string>, Map>();", "IMap", "Map"),
        ] {
            let found = registration(line).expect(line);
            assert_eq!(
                (found.service.as_str(), found.implementation.as_str()),
                (service, implementation),
                "{line}"
            );
        }
        for line in ["services.AddLogging<IShop, Shop>();", "list.Add(new Shop());", "AddScoped", ""] {
            assert_eq!(registration(line), None, "{line}");
        }
    }

    const TEXT: &str = "namespace N;
interface IShop { int Price(int count); }
class Shop : IShop { public Shop(int size) { } public int Price(int count) => count; }
class Till(IShop shop) { int Pay() => shop.Price(1); }
class Startup { void Configure(Package.Services services) { services.AddScoped<IShop, Shop>(); } }
record Order(int Count);
class OrderHandler : Package.IRequestHandler<Order, int> { public int Handle(Order order) => 1; public int HandleNone(int x) => x; }
class Api { Package.Mediator mediator; object Post() => mediator.Send(new Order(1)); }
";

    fn wired(symbol: &str) -> Vec<String> {
        let mut sample = Sample::of(&[("a.cs", TEXT)]);
        let symbols = sample.names();
        let found = resolve(&symbols, &mut sample, symbol, &Options::default()).expect("a resolution");
        let subject = Subject::of(&found).expect("one");
        let gaps = BTreeSet::new();
        let mut found = [usages(&mut sample, &symbols, &subject, &gaps).expect("usages")];
        label_wired(&mut sample, &symbols, &[subject], &gaps, &mut found).expect("outputs");
        let wired = found[0].possible.iter().filter(|(_, why)| matches!(why, Why::Wired(_)));
        wired.map(|(place, why)| format!("{}:{} {why}", place.line, place.column)).collect()
    }

    #[test]
    fn uses_that_a_framework_makes_are_labelled() {
        assert_eq!(wired("Shop.Price"), ["4:44 wired: registered as IShop at a.cs:5"]);
        assert_eq!(
            wired("Shop#.ctor(int)"),
            ["5:87 wired: registered as IShop, which a container makes"]
        );
        assert_eq!(wired("OrderHandler.Handle"), ["8:75 wired: it handles Order, which is made here"]);
        assert_eq!(wired("OrderHandler.HandleNone"), Vec::<String>::new());
        assert_eq!(wired("IShop.Price"), Vec::<String>::new());
    }
}
