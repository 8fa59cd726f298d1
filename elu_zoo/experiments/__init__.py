"""The paper's experiments: trained, measured, drawn and held against its claims."""
