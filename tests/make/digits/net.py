"""The net: two convolutions and a dense layer, trained in one go."""

from __future__ import annotations

import numpy as np
import torch

EPOCHS = 16
BATCH = 128


def train(images: np.ndarray, labels: np.ndarray) -> torch.nn.Sequential:
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Dropout(0.3),
        torch.nn.Linear(32 * 7 * 7, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 10),
    )
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
    steps = EPOCHS * -(-len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    for epoch in range(EPOCHS):
        losses = []
        for batch in torch.randperm(len(x)).split(BATCH):
            loss = torch.nn.functional.cross_entropy(net(x[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: {np.mean(losses):.4f}", flush=True)
    return net.eval()
