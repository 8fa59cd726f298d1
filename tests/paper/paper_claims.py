"""What the paper says, copied from it by hand: its section, its words, rows for it.

The table of claims is held against this list, not against itself.
"""

_LEAKY = "(leaky_relu|prelu)"
_UNITS = "(elu|relu|leaky_relu)"
_OTHERS = "(relu|leaky_relu)"
_OF_CIFAR = "(relu|leaky_relu|shifted_relu)"

PAPER = [
    ("abstract", "speeds up learning in deep neural networks",
     f"mnist-learns-faster-than-{_OTHERS}"),
    ("abstract", "mean shifts toward zero speed up learning by bringing the normal "
     "gradient closer to the unit natural gradient",
     "theory-gradient-(early|late)-closer-than-relu"),
    ("abstract", "because of a reduced bias shift effect",
     "theory-uncorrected-shift-(early|late)-below-relu"),
    ("abstract", "push mean unit activations closer to zero like batch normalization",
     f"mnist-activations-closer-to-zero-than-{_OTHERS}"),
    ("abstract", "but with lower computational complexity",
     "elu-costs-less-than-batch-norm"),
    ("abstract", "LReLUs and PReLUs do not ensure a noise-robust deactivation state",
     f"noise-deactivation-more-robust-than-{_LEAKY}"),
    ("abstract", "decrease the forward propagated variation and information",
     f"noise-less-propagated-than-{_LEAKY}"),
    ("abstract", "they do not quantitatively model the degree of their absence",
     f"noise-absence-quantified-less-than-{_LEAKY}"),
    ("abstract", "generalization performance on networks with more than 5 layers",
     f"depth-(6|8|12)-generalises-better-than-{_OTHERS}"),
    ("abstract", "ELUs networks significantly outperform ReLU networks with batch "
     "normalization", "cifar100-elu-below-relu-bn"),
    ("abstract", "while batch normalization does not improve ELU networks",
     "cifar100-elu-below-elu-bn"),
    ("abstract", "among the top 10 reported CIFAR-10 results",
     "cifar-10-elu-network-reaches-6.55"),
    ("abstract", "yield the best published result on CIFAR-100",
     "cifar-100-elu-network-reaches-24.28"),
    ("abstract", "considerably speed up learning compared to a ReLU network",
     "imagenet-elu-reaches-20-percent-first"),
    ("abstract", "less than 10% classification error for a single crop, single model",
     "imagenet-elu-below-10-percent"),
    ("1", "The more the units are correlated, the higher their bias shift",
     f"theory-shift-of-correlated-units-{_UNITS}"),
    ("1", "Therefore, such an activation function is more robust to noise",
     f"noise-more-robust-than-{_LEAKY}"),
    ("2", "Theorem 1", "theory-theorem-1"),
    ("2", "Theorem 2", "theory-theorem-2"),
    ("appendix A", "Lemma 1", "theory-lemma-1"),
    ("appendix B", "Lemma 2", "theory-lemma-2"),
    ("2", "scaling up the bias unit", f"theory-bias-unit-scaled-up-{_UNITS}"),
    ("2", "smaller positive E_p(a) lead to smaller positive E_q(a)",
     "theory-weighted-mean-length-(early|late)-below-relu"),
    ("2", "therefore to smaller corrections",
     "theory-correction-(early|late)-below-relu"),
    ("2", "in general the largest absolute components of Cov(delta^2, a) are positive",
     f"theory-covariances-positive-{_UNITS}"),
    ("4.1.1", "ELUs stay have smaller median throughout the training process",
     f"mnist-activations-smaller-throughout-than-{_OTHERS}"),
    ("4.1.1", "The training error of ELU networks decreases much more rapidly than for "
     "the other networks", f"mnist-fits-to-0[.0-9]+-sooner-than-{_OTHERS}"),
    ("4.1.1", "all lines stay flat after epoch 25",
     f"mnist-(training|validation)-flat-after-25-{_UNITS}"),
    ("4.1.1", "The median varies much more in ReLU networks",
     "mnist-medians(-themselves)?-vary-less-than-relu-(median|mean)"),
    ("4.1.2", "ELUs outperform the competing activation functions in terms of training "
     "/ test set reconstruction error for all learning rates",
     f"autoencoder-(training|test)-[-.0-9e]+-better-than-{_OF_CIFAR}"),
    ("4.1.2", "higher learning rates seem to perform better",
     "autoencoder-[-.0-9e]+-better-than-[-.0-9e]+"),
    ("4.2", "ELUs yield on average a test error of 28.75%, while SReLUs, ReLUs and "
     "LReLUs yield 29.35%, 31.56% and 30.59%",
     f"cifar100-(elu|{_OF_CIFAR[1:-1]})-reaches-[0-9.]+"),
    ("4.2", "both lower training loss and lower test error than ReLUs, LReLUs, and "
     "SReLUs", f"cifar100-(test-error|training-loss)-below-{_OF_CIFAR}"),
    ("4.2", "significantly better than for other activation functions (p < 0.001)",
     f"cifar100-(test-error|training-loss)-p-below-.001-{_OF_CIFAR}"),
    ("4.2", "29.35%, 31.56% and 30.59%, in order",
     "cifar100-(shifted_relu-below-leaky_relu|leaky_relu-below-relu)"),
    ("4.2", "Batch normalization improved ReLU and LReLU networks",
     f"cifar100-{_OTHERS}-bn-below-{_OTHERS}"),
    ("4.2", "but did not improve ELU and SReLU networks",
     "cifar100-(elu|shifted_relu)-below-(elu|shifted_relu)-bn"),
    ("4.2", "outperform ReLU networks with batch normalization (p < 0.001)",
     "cifar100-elu-below-relu-bn-p-below-.001"),
    ("4.2", "as ELUs converge faster they would benefit from an adjusted schedule",
     "cifar100-elu-gains-from-another-schedule"),
    ("4.3", "second best on CIFAR-10, best on CIFAR-100", "elu-network-ranks"),
    ("4.4", "ELUs start reducing the error earlier", "imagenet-elu-starts-earlier"),
    ("4.4", "Currently ELU nets are 5% slower on ImageNet than ReLU nets",
     "elu-costs-5-percent"),
]  # fmt: skip
