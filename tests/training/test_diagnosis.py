"""Each detector speaks where it should, and nowhere else; without TensorFlow."""

import pytest

from seq2seq_cli.training.diagnosis import DETECTORS, Diagnostician, History

Entry = dict[str, object]


def progress(step: int, **values: object) -> Entry:
    usual = {
        "loss": 4.0 - step / 1000,
        "learning_rate": 1 / (step + 1),
        "gradient_norm": 1.0 + 0.2 * (step % 30 == 0),
        "pairs_per_second": 300.0 + step % 20,
        "padding_share": 0.1,
    }
    return {"kind": "training", "step": step, **usual, **values}


def validation(step: int, **values: object) -> Entry:
    usual = {
        "epoch": step // 100,
        "dev_loss": 4.0 - step / 1000,
        "dev_bleu": step / 100,
        "same_share": 0.01,
        "unknown_share": 0.0,
        "copied_share": 0.01,
        "attention_entropy": 0.4,
        "attention_still_share": 0.0,
        "unigram_loss": 5.0,
        "untrained_share": 0.05,
    }
    return {"kind": "validation", "step": step, **usual, **values}


def training(last: int = 1000, changed: dict[int, Entry] | None = None, **values) -> list[Entry]:
    """Return the entries of a clean training; `values` change its validations."""
    entries = []
    for step in range(10, last + 1, 10):
        entries.append(progress(step, **(changed or {}).get(step, {})))
        if step % 200 == 0:
            given = {key: v(step) if callable(v) else v for key, v in values.items()}
            entries.append(validation(step, **given))
    return entries


def names(entries: list[Entry]) -> list[str]:
    doctor = Diagnostician()
    return [found.name for entry in entries for found in doctor.look_at(entry)]


def test_a_clean_training_has_no_problems():
    assert names(training(3000)) == []


OUTPUT_PROBLEMS = {
    "same_output": {"same_share": 0.95},
    "unknown_output": {"unknown_share": 0.6},
    "copied_output": {"copied_share": 0.4},
    "flat_attention": {"attention_entropy": 0.99},
    "still_attention": {"attention_still_share": 0.95},
    "unigram_loss": {"dev_loss": 5.1},
}


@pytest.mark.parametrize("name", OUTPUT_PROBLEMS)
def test_outputs_attention_and_loss_are_judged_after_500_updates(name):
    assert names(training(400, **OUTPUT_PROBLEMS[name])) == []
    found = Diagnostician()
    told = [each for e in training(1000, **OUTPUT_PROBLEMS[name]) for each in found.look_at(e)]
    assert [(each.name, each.step) for each in told] == [(name, 600)]


@pytest.mark.parametrize("name", OUTPUT_PROBLEMS)
def test_they_are_not_judged_during_the_warm_up(name):
    rising = {step: {"learning_rate": float(step)} for step in range(0, 1001, 10)}
    assert names(training(1000, rising, **OUTPUT_PROBLEMS[name])) == []


def test_figures_that_are_missing_are_not_judged():
    assert names(training(1000, attention_entropy=None, unigram_loss=None)) == []


def test_an_exploding_gradient_is_one_that_stays_high():
    once = {700: {"gradient_norm": 500.0}}
    assert names(training(1000, once)) == []
    often = {step: {"gradient_norm": 50.0} for step in range(700, 740, 10)}
    assert names(training(1000, often)) == ["exploding_gradient"]
    early = {step: {"gradient_norm": 50.0} for step in range(60, 110, 10)}
    assert names(training(1000, early)) == []


def test_overfitting_names_the_epoch_that_was_best():
    def dev_loss(step):
        return 2 + abs(step - 600) / 1000

    doctor = Diagnostician()
    found = [each for e in training(2000, dev_loss=dev_loss) for each in doctor.look_at(e)]
    assert [(each.name, each.step) for each in found] == [("overfitting", 1200)]
    assert "lowest in epoch 6 (update 600)" in found[0].text
    assert "from 2.00 to 2.60" in found[0].text


def test_a_dev_loss_that_rises_with_the_training_loss_is_not_overfitting():
    def dev_loss(step):
        return 2 + abs(step - 600) / 1000

    rising = {step: {"loss": step / 100} for step in range(10, 2001, 10)}
    assert names(training(2000, rising, dev_loss=dev_loss)) == []
    hardly = training(2000, dev_loss=lambda step: 2 + max(0, step - 600) / 1e6)
    assert names(hardly) == []
    jagged = training(2000, dev_loss=lambda step: 3 if step % 400 else 2)
    assert names(jagged) == []


def test_a_bleu_of_zero_is_a_problem_if_the_loss_falls():
    assert names(training(400, dev_bleu=0.0)) == []
    assert names(training(1000, dev_bleu=0.0)) == ["no_bleu"]
    assert names(training(1000, dev_bleu=0.0, dev_loss=4.0)) == []
    rising = {step: {"learning_rate": float(step)} for step in range(0, 1001, 10)}
    assert names(training(1000, rising, dev_bleu=0.0)) == []


def test_padding_is_reported_at_once():
    assert names([progress(10, padding_share=0.31)]) == ["padding"]
    assert names([progress(10, padding_share=0.3)]) == []


def test_pieces_that_are_never_trained():
    assert names(training(200, untrained_share=0.3)) == ["untrained_pieces"]
    assert names(training(200, untrained_share=None)) == []


def test_a_speed_that_falls_for_long():
    shortly = {step: {"pairs_per_second": 100.0} for step in range(700, 730, 10)}
    assert names(training(1000, shortly)) == []
    slow = {step: {"pairs_per_second": 100.0} for step in range(700, 1001, 10)}
    assert names(training(1000, slow)) == ["falling_speed"]


def test_a_slower_machine_after_a_resume_is_not_a_falling_speed():
    doctor = Diagnostician(training(1000))
    later = [progress(step, pairs_per_second=50.0) for step in range(1010, 2000, 10)]
    assert [found for entry in later for found in doctor.look_at(entry)] == []


def test_a_resumed_training_repeats_nothing():
    earlier = [
        *training(1000, same_share=1.0),
        {"kind": "diagnosis", "step": 600, "name": "same_output"},
    ]
    doctor = Diagnostician(earlier)
    assert doctor.look_at(validation(1200, same_share=1.0)) == []
    assert [each.name for each in doctor.look_at(validation(1400, copied_share=1.0))] == [
        "copied_output"
    ]


def test_a_diagnosis_has_a_cause_and_a_remedy():
    entries = training(2000, same_share=1.0, unknown_share=1.0, copied_share=1.0)
    doctor = Diagnostician()
    for found in (each for entry in entries for each in doctor.look_at(entry)):
        assert len(found.text.split(". ")) >= 3
        assert "\n" not in found.text
    assert len(DETECTORS) == 12
    assert all(detect(History()) is None for detect in DETECTORS.values())
