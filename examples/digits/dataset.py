"""The digits data set, scaled as the models expect it."""

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent
TRAIN_COUNT = 1437


def load_digits():
    """Returns (train_images, train_labels, test_images, test_labels).

    Images are float32 [n, 1, 8, 8] in 0..1 (pixels 0..16 divided by 16, exact in binary), labels int64 [n].
    """
    data = FOLDER / "data"
    split = np.load(data / "split.npy")
    images = np.load(data / "images.npy")[split, None].astype(np.float32) / np.float32(16)
    labels = np.load(data / "labels.npy")[split].astype(np.int64)
    return images[:TRAIN_COUNT], labels[:TRAIN_COUNT], images[TRAIN_COUNT:], labels[TRAIN_COUNT:]
