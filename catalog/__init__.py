"""The language and the decisions: values, requirements, compatibility, resolver, plan. Pure."""
