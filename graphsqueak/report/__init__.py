"""Tables, figures and HTML pages of results that other packages compute."""
