"""`python -m ops.drills.alert_drill`: whether alerts come in time, and whether predictions hold, on a real system.

| concern | module |
|---|---|
| what is done, and what is asked | drill |
| samples, rows, how far predictions were off | figures |
| who gets the alerts | inbox |
| options, table, file | __main__ |

The engine is slowed, so that neither client nor API is the limit. docs/operations.md has the figures.
"""
