//! Uses by a framework: a container creates a registered type and passes it where an interface is requested; a mediator calls the handler of a
//! message. They are found by registrations and by the bases of handlers, and are never certain.

use super::container_registrations::{Registration, registrations};
use super::dispatches::{Dispatch, dispatches};
use super::index::{Symbols, simple_name};
use super::meaning::Candidate;
use super::outputs::{Outputs, SymbolError, file_label, type_label};
use super::overloads::parameter_types;
use super::unimplemented::name_and_arguments;
use super::usages::{Subject, Usages, UseDoubt, usages_of_all};
use engine::values::label::halves;
use producers::csharp::deps::Dependencies;
use producers::csharp::syntax;
use producers::csharp::types::symbol_of;
use producers::csharp::usages::Place;
use producers::text::decode_keeping_line_ends;
use std::collections::{BTreeMap, BTreeSet};

/// Interfaces of handlers; the first type argument is the handled message.
const HANDLERS: [&str; 9] = [
    "IRequestHandler", "INotificationHandler", "IStreamRequestHandler", "ICommandHandler", "IQueryHandler", "IEventHandler",
    "IDomainEventHandler", "IConsumer", "IHandleMessages",
];

/// Explains the possible uses of members by frameworks, and adds those that do not contain the member's name.
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
        let is_called_through = found.possible.values().any(|why| matches!(why, UseDoubt::Through(_)));
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
    let sent = dispatches(outputs, &handled.iter().flatten().cloned().collect())?;
    let keys: Vec<String> = types.into_iter().collect();
    let wanted: Vec<Subject> = keys.iter().map(|key| Subject::of_type(&Candidate::from_path(key, &[]))).collect();
    let uses: BTreeMap<&str, Usages> = keys
        .iter()
        .map(String::as_str)
        .zip(usages_of_all(outputs, symbols, &wanted, gaps)?)
        .collect();
    let made = subjects.iter().filter_map(|subject| uses.get(halves(&subject.path)?.0));
    let registered = registrations_at(outputs, made.flat_map(|uses| &uses.certain))?;
    for ((subject, handled), found) in subjects.iter().zip(handled).zip(found) {
        let key = halves(&subject.path).map_or(subject.path.as_str(), |(key, _)| key);
        let own = simple_name(key);
        let mut services: BTreeMap<String, String> = BTreeMap::new();
        let mut by_interfaces = None;
        for place in uses.get(key).into_iter().flat_map(|uses| &uses.certain) {
            let holds = |one: &&Registration| {
                (one.lines.0..=one.lines.1).contains(&place.line) && one.implementations.iter().any(|made| made == own)
            };
            let Some(one) = registered.get(&place.file).into_iter().flatten().find(holds) else {
                continue;
            };
            let at = format!("{}:{}", place.file, place.line);
            let is_made_here = |one: &Place| (&one.file, one.line) == (&place.file, place.line);
            if subject.name_in_uses() == ".ctor" && !found.certain.iter().any(is_made_here) {
                let all = one.services.iter().map(String::as_str);
                let all: Vec<&str> = all.chain(one.is_by_interfaces.then_some("its interfaces")).collect();
                let why = format!("registered as {}, which a container creates", all.join(" and "));
                found.possible.insert(place.clone(), UseDoubt::Wired(why));
            }
            for service in &one.services {
                services.entry(service.clone()).or_insert_with(|| at.clone());
            }
            if one.is_by_interfaces {
                by_interfaces.get_or_insert(at);
            }
        }
        for why in found.possible.values_mut() {
            let UseDoubt::Through(path) = why else { continue };
            let base = simple_name(halves(path).map_or(path.as_str(), |(key, _)| key)).to_owned();
            if let Some(at) = services.get(&base).or(by_interfaces.as_ref()) {
                let what = if services.contains_key(&base) { &base } else { "its interfaces" };
                *why = UseDoubt::Wired(format!("registered as {what} at {at}"));
            }
        }
        for message in handled {
            let made = uses.get(message.as_str()).into_iter().flat_map(|uses| &uses.certain);
            label_handled(&message, made, sent.get(&message), found);
        }
    }
    Ok(())
}

/// Adds the uses of a message's handler: the places that create the message, and those that send it unless they are on the same line.
fn label_handled<'p>(message: &str, made: impl Iterator<Item = &'p Place>, sent: Option<&BTreeSet<Dispatch>>, found: &mut Usages) {
    let name = simple_name(message);
    let mut lines: BTreeSet<(&str, u32)> = BTreeSet::new();
    for place in made.filter(|place| makes(&place.text, name)) {
        lines.insert((&place.file, place.line));
        if !found.certain.contains(place) {
            let why = format!("it handles {name}, which is created here");
            found.possible.insert(place.clone(), UseDoubt::Wired(why));
        }
    }
    for (place, method) in sent.into_iter().flatten() {
        if !lines.contains(&(place.file.as_str(), place.line)) && !found.certain.contains(place) {
            let why = format!("it handles {name}, which is passed to {method} here");
            found.possible.insert(place.clone(), UseDoubt::Wired(why));
        }
    }
}

/// Returns the message types that a member handles because its type is their handler.
fn handled_by<O: Outputs>(outputs: &mut O, symbols: &Symbols, subject: &Subject) -> Result<BTreeSet<String>, O::Error> {
    let word = subject.name_in_uses();
    let is_handler = subject.is_member() && (word.starts_with("Handle") || word == "Consume");
    let Some((key, _)) = halves(&subject.path).filter(|_| is_handler) else {
        return Ok(BTreeSet::new());
    };
    let Some(at) = symbols.find(key) else { return Ok(BTreeSet::new()) };
    let labels: Vec<String> = symbols.type_row(at)?.files.iter().map(|file| file_label(file, "syntax")).collect();
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

/// Whether a line creates a value of a type: `new Order(1)`, `new N.Order { … }`.
fn makes(line: &str, name: &str) -> bool {
    let ends = ['(', '{', ';', ')', ' '];
    line.split("new ")
        .skip(1)
        .any(|rest| name_and_arguments(rest.split(ends).next().unwrap_or_default()).0 == name)
}

/// Returns the registrations in the files of the places.
fn registrations_at<'p, O: Outputs>(
    outputs: &mut O,
    places: impl Iterator<Item = &'p Place>,
) -> Result<BTreeMap<String, Vec<Registration>>, O::Error> {
    let files: BTreeMap<String, &str> = places
        .map(|place| (file_label(&place.file, "bytes"), place.file.as_str()))
        .collect();
    let labels: Vec<String> = files.keys().cloned().collect();
    let mut found = BTreeMap::new();
    if labels.is_empty() {
        return Ok(found);
    }
    for output in outputs.read(&labels)? {
        if let (Some(bytes), Some(file)) = (output.bytes, files.get(&output.label)) {
            let (text, _) = decode_keeping_line_ends(&bytes, "");
            found.insert((*file).to_owned(), registrations(&text));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::resolve::{Options, resolve};
    use super::super::samples::Sample;
    use super::super::usages::usages;
    use super::*;

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
        wired_in(TEXT, symbol)
    }

    fn wired_in(text: &str, symbol: &str) -> Vec<String> {
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        let symbols = sample.names();
        let found = resolve(&symbols, &mut sample, symbol, &Options::default()).expect("a resolution");
        let subject = Subject::from_resolution(&found).expect("one");
        let gaps = BTreeSet::new();
        let mut found = [usages(&mut sample, &symbols, &subject, &gaps).expect("usages")];
        label_wired(&mut sample, &symbols, &[subject], &gaps, &mut found).expect("outputs");
        let wired = found[0].possible.iter().filter(|(_, why)| matches!(why, UseDoubt::Wired(_)));
        wired.map(|(place, why)| format!("{}:{} {why}", place.line, place.column)).collect()
    }

    #[test]
    fn uses_that_a_framework_makes_are_labelled() {
        assert_eq!(wired("Shop.Price"), ["4:44 wired: registered as IShop at a.cs:5"]);
        assert_eq!(
            wired("Shop#.ctor(int)"),
            ["5:87 wired: registered as IShop, which a container creates"]
        );
        assert_eq!(
            wired("OrderHandler.Handle"),
            ["8:75 wired: it handles Order, which is created here"]
        );
        assert_eq!(wired("OrderHandler.HandleNone"), Vec::<String>::new());
        assert_eq!(wired("IShop.Price"), Vec::<String>::new());
    }

    #[test]
    fn a_message_in_a_variable_is_sent_where_the_variable_is_passed() {
        let text = TEXT.replace(
            "object Post() => mediator.Send(new Order(1));",
            "object Post() {\nvar order = new Order(1);\nreturn mediator.Send(order, default);\n}
object Put(Order order) => mediator.SendAsync(order);
object Get() {\nOrder order = new(2);\nLog(order);\nreturn mediator.Publish(order);\n}
object Make() => mediator.Send<int>(Given());\nOrder Given() => null; void Log(Order order) { }",
        );
        let why = |at: &str, method: &str| format!("{at} wired: it handles Order, which is passed to {method} here");
        assert_eq!(
            wired_in(&text, "OrderHandler.Handle"),
            [
                "9:17 wired: it handles Order, which is created here".to_owned(),
                why("10:17", "Send"),
                why("12:37", "SendAsync"),
                why("16:17", "Publish"),
                why("18:27", "Send"),
            ]
        );
    }

    #[test]
    fn registrations_of_several_lines_are_found() {
        let text = TEXT.replace(
            "services.AddScoped<IShop, Shop>();",
            "services\n.AddScoped<IShop>(of =>\n{\n return new Shop(1);\n})\n.AddScoped(\n typeof(IShop),\n typeof(Shop));",
        );
        assert_eq!(wired_in(&text, "Shop.Price"), ["4:44 wired: registered as IShop at a.cs:8"]);
        assert_eq!(
            wired_in(&text, "Shop#.ctor(int)"),
            ["12:9 wired: registered as IShop, which a container creates"]
        );
        let text = TEXT.replace(
            "services.AddScoped<IShop, Shop>();",
            "services.RegisterType<Shop>()\n.AsImplementedInterfaces();",
        );
        assert_eq!(
            wired_in(&text, "Shop.Price"),
            ["4:44 wired: registered as its interfaces at a.cs:5"]
        );
    }
}
