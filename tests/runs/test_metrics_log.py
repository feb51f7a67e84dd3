from seq2seq_cli.runs.metrics_log import END, START, TRAINING, VALIDATION, of_kind


def test_entries_are_chosen_by_kind_in_order_and_some_have_none():
    entries = [
        {"kind": "start", "step": 0},
        {"step": 1},
        {"kind": "validation", "step": 2},
        {"kind": ["training"], "step": 3},
        {"kind": "training", "step": 4},
        {"kind": "validation", "step": 5},
    ]
    assert of_kind(entries, VALIDATION) == [entries[2], entries[5]]
    assert of_kind(entries, TRAINING, START, VALIDATION) == [entries[i] for i in (0, 2, 4, 5)]
    assert of_kind(entries, END) == []
