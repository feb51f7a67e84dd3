from types import SimpleNamespace

from seq2seq_cli.runtime.probe import Products, measure, widths_of


def test_slow_work_is_measured_once_after_a_warm_up():
    runs, now = [], [0.0]

    def slow() -> None:
        runs.append(now[0])
        now[0] += 5

    assert measure({"slow": slow}, 0.3, lambda: now[0]) == {"slow": 5}
    assert len(runs) == 2


def test_products_have_the_widths_of_the_largest_matrices():
    shapes = [(5,), (8, 16), (2, 3), (16, 16), (300_000, 8), (8, 16)]
    model = SimpleNamespace(trainable_variables=[SimpleNamespace(shape=x) for x in shapes])
    assert widths_of(model) == [(1024, 8), (16, 16), (8, 16)]
    for dtype in ("float32", "bfloat16"):
        Products(widths_of(model)).multiply(dtype, 2)
