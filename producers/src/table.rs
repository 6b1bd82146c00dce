//! Producer `table`: its parameters as a table, one row each, whose value is the parameter's JSON. It brings the rows of a manifest's data tables
//! into the graph, so that a change of one row does not rebuild the readers of another.

use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId};
use engine::values::table::write_table;
use std::collections::BTreeMap;

/// The producer `table`. It accepts any parameters.
#[derive(Debug)]
pub struct Rows;

impl Producer for Rows {
    fn id(&self) -> ProducerId {
        ProducerId::new("table", 1)
    }

    fn check(&self, _: &Params) -> Result<(), Vec<ParamError>> {
        Ok(())
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let rows: BTreeMap<&str, String> = inputs
            .params
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_string()))
            .collect();
        Ok(Output::new(write_table(&rows)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::seams::producer::Cancel;
    use engine::values::table::Table;

    #[test]
    fn a_row_for_every_parameter() {
        let params: Params = serde_json::from_str(r#"{"b":["x"],"a":{"n":1,"m":"é"}}"#).expect("JSON");
        let (roles, vars, cancel) = Default::default();
        let made = Rows.produce(&Inputs::bare("//m/t:table", &params, &roles, &vars, &cancel as &Cancel));
        let blob = made.expect("a table").bytes;
        let table = Table::open(&blob).expect("a table");
        let rows: Vec<(&str, &[u8])> = table.rows().collect();
        assert_eq!(rows, [("a", "{\"m\":\"é\",\"n\":1}".as_bytes()), ("b", b"[\"x\"]")]);
    }
}
