//! Rows of runs and occurrences.
