// The AI SDK's own mock model. It calls what the user's message lists as JSON, and says what the tools answered.
import { MockLanguageModelV3 as Mock } from "ai/test";
import { generated } from "./generated.js";

export const model = new Mock({ doGenerate: async ({ prompt }) => generated(prompt, "delete_files") });
