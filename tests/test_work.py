from seq2seq_cli.work import EVERY, shown


def test_items_pass_and_are_counted_every_so_often():
    told = []
    items = range(2 * EVERY + 5)
    estimate = EVERY + 7
    passed = shown(items, lambda *counts: told.append(counts), "Reading", "pairs", estimate, done=3)
    assert list(passed) == list(items)
    assert told == [
        ("Reading", "pairs", 3, estimate),
        ("Reading", "pairs", EVERY, estimate),
        ("Reading", "pairs", 2 * EVERY, 2 * EVERY),  # never more than there are
    ]
