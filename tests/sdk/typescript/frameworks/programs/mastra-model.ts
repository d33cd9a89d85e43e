// A model in the form of the AI SDK's provider interface, version 3, which Mastra takes as it is.
import { generated } from "./generated.js";

export const model: any = {
  specificationVersion: "v3", provider: "mock", modelId: "mock", supportedUrls: {},
  doGenerate: async ({ prompt }: { prompt: unknown[] }) => generated(prompt, "deleteFiles", "INSISTS" in process.env),
  doStream: async () => { throw new Error("Nobody streams here."); },
};
