"""Synonyms: what people call the same kind of work. Reviewed data."""

from __future__ import annotations

from typing import Final, NamedTuple


class Kind(NamedTuple):
    """A kind of work."""

    names: tuple[str, ...]
    """What it is called: a release that says one of them, in singular or plural, is of this kind."""
    words: str = ""
    """What else it is looked for by, which on its own does not tell the kind."""


KINDS: Final = (
    Kind(
        ("sentence similarity", "embedding", "feature extraction", "text similarity", "semantic search"),
        "vectors retrieval encoder",
    ),
    Kind(("image feature extraction", "image embedding"), "visual similarity"),
    Kind(("optical character recognition", "ocr", "text recognition", "image to text"), "reading scan"),
    Kind(
        ("automatic speech recognition", "asr", "speech recognition", "speech to text", "stt"),
        "transcription transcribe dictation",
    ),
    Kind(("text to speech", "tts", "speech synthesis"), "voice speak"),
    Kind(
        ("text generation", "llm", "slm", "large language model", "small language model", "language model"),
        "chat chatbot assistant completion gpt",
    ),
    Kind(("image text to text", "vlm", "vision language model", "visual question answering"), "multimodal"),
    Kind(("image classification", "picture classification", "image recognition"), "tagging labels"),
    Kind(("object detection",), "detector bounding boxes localization"),
    Kind(
        ("image segmentation", "semantic segmentation", "instance segmentation", "background removal"), "masks matting"
    ),
    Kind(("face detection", "face recognition"), "faces"),
    Kind(("pose estimation", "keypoint detection"), "keypoints skeleton body"),
    Kind(("depth estimation", "monocular depth", "depth map"), "distance"),
    Kind(("super resolution", "upscaling"), "upscaler enhance sharpen"),
    Kind(("image denoising", "noise removal"), "denoise denoising"),
    Kind(("text to image", "image generation"), "diffusion"),
    Kind(("image captioning", "caption"), "describe"),
    Kind(("translation", "nmt"), "translator translate"),
    Kind(("summarization", "summarisation"), "summary summarize abstract digest"),
    Kind(("question answering", "qa"), "answers"),
    Kind(("text classification", "sentiment analysis", "sentiment"), "moderation topic"),
    Kind(("token classification", "named entity recognition", "ner"), "entities tagging"),
    Kind(("text ranking", "reranking", "reranker", "cross encoder")),
    Kind(("voice activity detection", "vad", "speech detection")),
    Kind(("speaker identification", "speaker verification", "diarization"), "who speaks"),
    Kind(("audio classification", "sound classification"), "noises"),
    Kind(("music separation", "source separation"), "stems vocals"),
    Kind(("time series forecasting", "forecasting"), "prediction"),
    Kind(("anomaly detection", "outlier detection"), "outliers alarm"),
    Kind(("tabular classification", "tabular regression"), "tables spreadsheet"),
    Kind(("code generation", "code completion"), "programming coding"),
    Kind(("digit recognition", "handwritten digit", "handwriting"), "handwritten digits mnist"),
)
SAY_NOTHING: Final = frozenset(
    {"a", "an", "and", "for", "from", "in", "model", "models", "of", "on", "onnx", "the", "to", "with"}
)
"""Words of a query that tell no release from another."""
