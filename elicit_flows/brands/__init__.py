"""The operator's brand: names, pictures, colours and texts of the pages that people see."""
