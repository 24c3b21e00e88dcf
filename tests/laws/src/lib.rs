//! Property tests that compile in little time.
//!
//! `proptest!` compiles its runner, with shrinking and messages, again for every test: about 2,700 lines of LLVM IR each.
//! [`laws!`] takes the same tests and hides the type of their cases, so that the runner is compiled once.

use proptest::strategy::{BoxedStrategy, Strategy};
use proptest::test_runner::{Config, TestCaseResult, TestRunner, contextualize_config};
use std::any::Any;
use std::fmt;

/// Defines property tests, with the syntax of `proptest!`. Every argument has the form `pattern in strategy`.
#[macro_export]
macro_rules! laws {
    (#![proptest_config($config:expr)] $($laws:tt)*) => {
        $crate::laws!(@with ($config) $($laws)*);
    };
    (@with ($config:expr) $(
        $(#[$attribute:meta])*
        fn $name:ident($($argument:pat in $strategy:expr),+ $(,)?) $body:block
    )*) => {$(
        $(#[$attribute])*
        fn $name() {
            let law = $crate::Law {
                arguments: stringify!($($argument),+),
                name: concat!(module_path!(), "::", stringify!($name)),
                file: file!(),
            };
            law.check($config, ($($strategy,)+), |($($argument,)+)| {
                $body
                Ok(())
            });
        }
    )*};
    ($($laws:tt)*) => {
        $crate::laws!(@with (::proptest::test_runner::Config::default()) $($laws)*);
    };
}

/// A property test; see [`laws!`].
pub struct Law {
    /// The names of the arguments, as messages show them.
    pub arguments: &'static str,
    /// The path of the test, which messages name.
    pub name: &'static str,
    /// The source file of the test. Its failed cases are kept in `proptest-regressions/`.
    pub file: &'static str,
}

impl Law {
    /// Runs a test for the cases of a strategy.
    ///
    /// # Panics
    /// If the test fails for a case. The message has the smallest such case that was found.
    #[track_caller]
    pub fn check<S>(self, config: Config, strategy: S, test: impl Fn(S::Value) -> TestCaseResult)
    where
        S: Strategy + 'static,
        S::Value: 'static,
    {
        let arguments = self.arguments;
        let cases = strategy.prop_map(move |value| Case { arguments, value: Box::new(value) });
        self.run(config, cases.boxed(), &|case| match (case.value as Box<dyn Any>).downcast::<S::Value>() {
            Ok(value) => test(*value),
            Err(_) => unreachable!("the cases are those of the strategy"),
        });
    }

    /// The part of a check that is the same for all types of cases.
    #[track_caller]
    #[expect(clippy::panic, reason = "a test fails with a panic")]
    fn run(&self, config: Config, cases: BoxedStrategy<Case>, test: &dyn Fn(Case) -> TestCaseResult) {
        let mut config = contextualize_config(config);
        config.test_name = Some(self.name);
        config.source_file = Some(self.file);
        let mut runner = TestRunner::new(config);
        if let Err(error) = runner.run(&cases, test) {
            panic!("{error}\n{runner}");
        }
    }
}

/// The values of a test's arguments.
struct Case {
    arguments: &'static str,
    value: Box<dyn Value>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}) = {:#?}", self.arguments, self.value)
    }
}

/// A value of any type that messages can show.
trait Value: Any + fmt::Debug {}

impl<T: Any + fmt::Debug> Value for T {}
