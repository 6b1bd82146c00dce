//! Finds registrations of types with a container in the code of a file: the requested types, and the created ones. Supports the containers of .NET,
//! Autofac, Ninject, Windsor, Lamar, Unity, and those with the same method names.

use super::unimplemented::name_and_arguments;
use producers::csharp::lexer::{Kind, Token, lex};

/// Ends of method names that register a type with a container, after `Add` or `TryAdd`.
const LIFETIMES: [&str; 3] = ["Singleton", "Scoped", "Transient"];

/// Further methods that register their type argument.
const MAKERS: [&str; 11] = [
    "AddHostedService", "AddHttpClient", "AddHttpMessageHandler", "AddDbContext", "AddDbContextPool", "AddDbContextFactory", "AddCheck",
    "Decorate", "UseMiddleware", "MapHub", "MapGrpcService",
];

/// Methods that name the requested type; a later call in the chain names the created one.
const BINDERS: [&str; 3] = ["Bind", "Rebind", "For"];

/// Methods later in the chain that name the created type.
const MADE_BY: [&str; 8] = [
    "To", "ToMethod", "ToConstant", "ImplementedBy", "UsingFactoryMethod", "Instance", "Use", "Add",
];

/// Methods inside a factory that create a type, or return a registered one.
const FACTORIES: [&str; 4] = ["CreateInstance", "GetRequiredService", "GetService", "Resolve"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Registration {
    /// Simple names of the requested types.
    pub services: Vec<String>,
    /// Whether every interface of the created type is requested.
    pub is_by_interfaces: bool,
    /// Simple names of the created types.
    pub implementations: Vec<String>,
    /// First and last line.
    pub lines: (u32, u32),
}

pub(super) fn registrations(text: &str) -> Vec<Registration> {
    let tokens = lex(text).tokens;
    let reader = Reader { text, tokens: &tokens };
    (0..tokens.len()).filter_map(|at| reader.registration(at)).collect()
}

/// The types that a call names.
#[derive(Default)]
struct Named {
    /// Type arguments, and types in `typeof`.
    types: Vec<String>,
    /// Types that the call's arguments create.
    made: Vec<String>,
    /// Index of the token after the call.
    end: usize,
}

struct Reader<'t> {
    text: &'t str,
    tokens: &'t [Token],
}

impl Reader<'_> {
    fn text_of_token(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text(self.text))
    }

    /// Returns the registration that begins with a word.
    fn registration(&self, at: usize) -> Option<Registration> {
        let word = self.text_of_token(at);
        if self.tokens[at].kind != Kind::Word || !matches!(self.text_of_token(at + 1), "<" | "(") {
            return None;
        }
        let before = |back: usize| at.checked_sub(back).map_or("", |at| self.text_of_token(at));
        let is_of_descriptor = before(1) == "." && before(2) == "ServiceDescriptor" || word == "ServiceDescriptor" && before(1) == "new";
        let (is_binder, is_register) = (BINDERS.contains(&word), word.starts_with("Register"));
        if !(is_of_descriptor || is_binder || is_register || adds(word)) {
            return None;
        }
        let Named { mut types, mut made, end } = self.read_call(at)?;
        let (mut services, mut is_by_interfaces, mut next) = (Vec::new(), false, end);
        while self.text_of_token(next) == "." {
            let word = self.text_of_token(next + 1);
            let Some(call) = self.read_call(next + 1) else { break };
            match word {
                "As" => services.extend(call.types),
                "AsImplementedInterfaces" | "BindInterfaces" => is_by_interfaces = true,
                "AsSelf" => services.extend(types.first().cloned()),
                _ if is_binder && MADE_BY.contains(&word) => made.extend(call.types.into_iter().chain(call.made)),
                _ => {}
            }
            next = call.end;
        }
        let is_behind = !services.is_empty() || is_by_interfaces;
        if is_register && types.is_empty() && !is_behind || is_binder && made.is_empty() {
            return None;
        }
        if is_behind {
            types.append(&mut made);
            made = types;
        } else {
            services.push(types.first().or(made.first())?.clone());
            made.extend(types.into_iter().skip(1));
            if made.is_empty() {
                made.clone_from(&services);
            }
        }
        let line = |at: usize| u32::try_from(self.text[..self.tokens[at].start as usize].matches('\n').count()).unwrap_or(u32::MAX - 1) + 1;
        Some(Registration {
            services,
            is_by_interfaces,
            implementations: made,
            lines: (line(at), line(next.saturating_sub(1).max(at).min(self.tokens.len() - 1))),
        })
    }

    /// Reads the types that a call names: `M<A, B>(typeof(C), _ => new D())`.
    fn read_call(&self, at: usize) -> Option<Named> {
        let mut named = Named::default();
        let open = (at + 1..self.tokens.len()).find(|open| matches!(self.text_of_token(*open), "(" | ";" | "{"))?;
        if self.text_of_token(open) != "(" {
            return None;
        }
        let written = &self.text[self.tokens[at].start as usize..self.tokens[open].start as usize];
        named.types = simple_names(&name_and_arguments(written.trim()).1);
        let (mut depth, mut next) = (0_usize, open);
        while next < self.tokens.len() {
            match self.text_of_token(next) {
                "(" => depth += 1,
                ")" if depth == 1 => break,
                ")" => depth -= 1,
                "typeof" if self.text_of_token(next + 1) == "(" => named.types.push(self.path(next + 2)),
                "new" if self.tokens.get(next + 1).is_some_and(|token| token.kind == Kind::Word) => named.made.push(self.path(next + 1)),
                word if FACTORIES.contains(&word) && self.text_of_token(next + 1) == "<" => named.made.push(self.path(next + 2)),
                _ => {}
            }
            next += 1;
        }
        named.end = next + 1;
        Some(named)
    }

    /// Returns the last name of a dotted name.
    fn path(&self, mut at: usize) -> String {
        while matches!(self.text_of_token(at + 1), "." | "::") {
            at += 2;
        }
        self.text_of_token(at).to_owned()
    }
}

fn simple_names(written: &[&str]) -> Vec<String> {
    written.iter().map(|one| name_and_arguments(one).0.to_owned()).collect()
}

/// Whether a method registers a type with the container of .NET.
fn adds(word: &str) -> bool {
    let rest = word.strip_prefix("Try").unwrap_or(word);
    let rest = rest.strip_prefix("Add").map(|rest| rest.strip_prefix("Keyed").unwrap_or(rest));
    MAKERS.contains(&word) || rest.is_some_and(|rest| LIFETIMES.contains(&rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrations_of_all_containers_are_read() {
        for (text, services, implementations) in [
            ("services.AddScoped<IShop, Shop>();", "IShop", "Shop"),
            ("services.TryAddKeyedSingleton<N.IShop, N.Shop>(\"a\");", "IShop", "Shop"),
            ("services.AddHostedService<Worker>();", "Worker", "Worker"),
            ("builder.Services.AddTransient(typeof(IRepo<>), typeof(Repo<>));", "IRepo", "Repo"),
            ("services.AddSingleton<IShop>(of => new Shop(of.Get<int>()));", "IShop", "Shop"),
            ("services.AddSingleton(new N.Shop());", "Shop", "Shop"),
            (
                "services.AddSingleton<IShop>(of => of.GetRequiredService<Shop>());",
                "IShop",
                "Shop",
            ),
            (
                "services.AddSingleton<IShop>(of => ActivatorUtilities.CreateInstance<Shop>(of, 1));",
                "IShop",
                "Shop",
            ),
            ("services.AddScoped<IMap<int, string>, Map>();", "IMap", "Map"),
            ("services.AddHttpClient<IApi, Api>(c => c.Base = 1);", "IApi", "Api"),
            ("s.TryAddEnumerable(ServiceDescriptor.Singleton<IShop, Shop>());", "IShop", "Shop"),
            (
                "s.Add(new ServiceDescriptor(typeof(IShop), typeof(Shop), ServiceLifetime.Scoped));",
                "IShop",
                "Shop",
            ),
            (
                "s.Replace(ServiceDescriptor.Describe(typeof(IShop), typeof(Shop), life));",
                "IShop",
                "Shop",
            ),
            ("builder.RegisterType<Shop>().As<IShop>().SingleInstance();", "IShop", "Shop"),
            ("builder.RegisterType<Shop>().As<IShop>().As<IOpen>();", "IShop IOpen", "Shop"),
            ("builder.RegisterType<Shop>().AsImplementedInterfaces();", "*", "Shop"),
            ("builder.RegisterType<Shop>().AsSelf().AsImplementedInterfaces();", "Shop *", "Shop"),
            ("builder.RegisterGeneric(typeof(Repo<>)).As(typeof(IRepo<>));", "IRepo", "Repo"),
            (
                "builder.Register(c => new Shop(c.Resolve<Size>())).As<IShop>();",
                "IShop",
                "Shop Size",
            ),
            ("container.Register<IShop, Shop>(Lifestyle.Scoped);", "IShop", "Shop"),
            ("container.RegisterInstance<IShop>(new Shop());", "IShop", "Shop"),
            ("container.RegisterSingleton<IShop, Shop>();", "IShop", "Shop"),
            ("Bind<IShop>().To<Shop>().InSingletonScope();", "IShop", "Shop"),
            ("kernel.Bind(typeof(IRepo<>)).To(typeof(Repo<>));", "IRepo", "Repo"),
            ("Bind<IShop>().ToMethod(of => new Shop());", "IShop", "Shop"),
            (
                "c.Register(Component.For<IShop>().ImplementedBy<Shop>().LifestyleSingleton());",
                "IShop",
                "Shop",
            ),
            ("For<IShop>().Use<Shop>();", "IShop", "Shop"),
            ("app.UseMiddleware<Guard>(1);", "Guard", "Guard"),
            (
                "services\n  .AddSingleton(\n    typeof(IShop),\n    typeof(Shop))\n  .AddLogging();",
                "IShop",
                "Shop",
            ),
            (
                "services.AddSingleton<IShop>(of =>\n{\n  var size = new Size();\n  return new Shop(size);\n});",
                "IShop",
                "Size Shop",
            ),
        ] {
            let found = registrations(text);
            let [one] = found.as_slice() else { panic!("{text}: {found:?}") };
            let mut asked = one.services.clone();
            asked.extend(one.is_by_interfaces.then(|| "*".to_owned()));
            assert_eq!(
                (asked.join(" ").as_str(), one.implementations.join(" ").as_str()),
                (services, implementations),
                "{text}"
            );
        }
        for text in [
            "services.AddLogging<IShop, Shop>();",
            "list.Add(new Shop());",
            "AddScoped",
            "",
            "token.Register(() => new Shop());",
            "foreach (var x in For<Shop>()) { }",
            "Bind<IShop>();",
            "RegisterType<Shop>",
            "AddScoped<IShop, Shop>(",
        ] {
            assert!(registrations(text).len() <= usize::from(text.ends_with("Shop>(")), "{text}");
        }
    }

    #[test]
    fn lines_of_a_registration_end_with_its_chain() {
        let text = "a();\nb.RegisterType<Shop>()\n  .As<IShop>()\n  .SingleInstance();\nb.RegisterType<Till>();\n";
        let lines: Vec<(u32, u32)> = registrations(text).into_iter().map(|one| one.lines).collect();
        assert_eq!(lines, [(2, 4), (5, 5)]);
    }
}
