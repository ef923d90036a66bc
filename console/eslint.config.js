/* Rules for the sources of the console; prettier decides about the layout. README.md says what each layer is. */
import js from "@eslint/js";
import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";
import { layersRule } from "./lint/layers.js";

const almanac = { rules: { layers: layersRule } };

export default tseslint.config(
  { ignores: ["dist/**"] },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  js.configs.recommended,
  {
    rules: {
      eqeqeq: ["error", "always", { null: "ignore" }],
      "max-len": ["error", { code: 120, tabWidth: 2 }], // prettier leaves texts and comments as they are
      "no-eval": "error",
      "no-undef": "off", // TypeScript knows the names of the browser and of Node
    },
  },
  {
    files: ["src/**/*.ts", "src/**/*.tsx"],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { project: "./tsconfig.json", tsconfigRootDir: import.meta.dirname } },
    plugins: { "react-hooks": hooks, almanac },
    rules: {
      "react-hooks/rules-of-hooks": "error",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "@typescript-eslint/require-await": "off", // an interface may ask for a promise
    },
  },
  {
    files: ["src/**/*.ts", "src/**/*.tsx"],
    ignores: ["src/**/*.test.ts"],
    rules: {
      "almanac/layers": "error",
      "max-lines": ["error", { max: 500 }],
      "max-lines-per-function": ["error", { max: 100, skipComments: true, skipBlankLines: true }],
    },
  },
  {
    files: ["src/**/*.test.ts"],
    rules: {
      "@typescript-eslint/no-base-to-string": "off",
      "@typescript-eslint/no-unsafe-assignment": "off", // expect.any() and the like
    },
  },
  { files: ["e2e/**/*.ts", "*.ts"], extends: [tseslint.configs.recommended] },
);
