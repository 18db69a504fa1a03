"""The pages and data sheets of mechanisms and methods."""
