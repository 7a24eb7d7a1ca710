"""Write the report of an experiment: tables, pictures, sentences."""
