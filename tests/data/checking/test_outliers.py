import numpy as np

from seq2seq_cli.data.checking.outliers import Languages, extreme_ratios


def test_extreme_ratios():
    lengths = np.full((500, 2), 40, np.int32)
    lengths[7] = 40, 90
    lengths[8] = 90, 40
    lengths[9] = 2, 12  # short, so within what happens
    lengths[10] = 40, 70
    assert np.flatnonzero(extreme_ratios(lengths)).tolist() == [7, 8]


def test_a_line_is_not_judged_by_what_it_taught_itself():
    languages = Languages()
    sides = (["aaa bbb"] * 50, ["xxx yyy"] * 50)
    sides[0].append("xxx yyy bcdfghjklmnpqrstvwz01")
    sides[1].append("xxx yyy")
    languages.learn(sides)
    assert np.flatnonzero(languages.wrong(sides)).tolist() == [50]
