"""A retrieval chain with memory beside it: documents say what holds, memory says for whom.

Run it with `python examples/langchain_rag.py`.
"""

import tempfile
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from hindsight_core import Hindsight
from hindsight_langchain import HindsightRetriever, assign_brief, with_hindsight

RECIPES = [
    Document("Pancakes: 2 cups of flour (240 g), 2 eggs, 1 cup of milk (240 ml)"),
    Document("Bread: 4 cups of flour (480 g), water, yeast"),
]
PROMPT = ChatPromptTemplate.from_messages(
    [("system", "Recipes:\n{recipes}\n\n{memory}"), ("user", "{question}")]
)


class ScriptedModel(BaseChatModel):
    """Stands in for a real model: it uses metric units if its prompt says so."""

    _llm_type = "scripted"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        metric = "metric" in str(messages[0].content)
        text = "240 g of flour and 240 ml of milk." if metric else "2 cups of flour, 1 of milk."
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


def find_recipes(question: str) -> str:
    """Return the recipes that share a word with the question, as a vector store would."""
    words = {word.lower().strip("?.,") for word in question.split()}
    found = [d.page_content for d in RECIPES if d.page_content.split(":")[0].lower() in words]
    return "\n".join(found)


def main() -> None:
    """Say a preference in one run and see it in the next."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Hindsight.open(folder, namespace="kitchen") as hindsight,
    ):
        chain = with_hindsight(
            RunnablePassthrough.assign(recipes=lambda x: find_recipes(x["question"]))
            | assign_brief(hindsight)
            | PROMPT
            | ScriptedModel()
            | StrOutputParser(),
            hindsight,
        )
        config = {"metadata": {"user_id": "alice"}}
        for question in (
            "How much flour is in pancakes?",
            "I always use metric units for recipes, please remember that. How are pancakes made?",
            "Which units do I use for the pancakes recipe, and how much flour is it?",
        ):
            print("-", chain.invoke({"question": question}, config))
            hindsight.flush()

        # Or as a plain retriever, piped to a formatter of your own.
        lines = RunnableLambda(lambda documents: [d.page_content for d in documents])
        known = HindsightRetriever(hindsight=hindsight, k=2) | lines
        print(known.invoke("units for recipes", config))


if __name__ == "__main__":
    main()
