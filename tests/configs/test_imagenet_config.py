"""The ImageNet config has the settings of the paper, and a smoke variant."""

from fake_runs import get_config

from elu_zoo.training.config import resolve
from elu_zoo.training.config_checks import check_config, check_run

NAME = "elu_imagenet_15"


def test_the_default_has_the_settings_of_paper_section_4_4():
    config = get_config(NAME)
    assert (config.schedule, config.model.activation.name) == ("paper", "elu")
    model = config.model.to_dict()
    assert (model["width"], model["kernel_decay"], model["dropout"]) == (1, 0.0005, 0.5)
    assert len(model["spp_levels"]) == 3
    data = config.data.to_dict()
    assert (data["image_size"], data["crop_size"]) == (256, 224)
    assert (data["validation_images"], data["train_examples"]) == (5000, 0)
    assert (data["name"], data["augmentation"]) == ("imagenet2012", "crop_flip")
    assert config.train.epochs == config.schedule_epochs
    # In the paper, ReLU networks need 200,000 iterations for a top-5 error of 20 %. The
    # learning rate must not fall before this iteration.
    iterations = 1_281_167 // config.train.batch_size * config.train.epochs
    boundaries = [fraction * iterations for fraction in config.train.boundaries]
    assert 200_000 <= boundaries[0] < boundaries[-1] < iterations
    check_config(config)
    check_run(resolve(config).config, iterations, 1)
