import { defineConfig } from "vite";

/* Relative addresses: the console runs below whatever path the server, or a proxy before it, gives it.
 * Target and cssTarget: the browsers of 2023 and later. OUT_DIR is set by the build of the server. */
export default defineConfig({
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: process.env.OUT_DIR ?? "dist",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 800,
    /* hex: the server takes such a name for one that tells the content, to be kept for ever */
    rolldownOptions: {
      output: {
        hashCharacters: "hex",
        entryFileNames: "assets/[name]-[hash:16].js",
        chunkFileNames: "assets/[name]-[hash:16].js",
        assetFileNames: "assets/[name]-[hash:16][extname]",
      },
    },
  },
  worker: {
    format: "es",
    rolldownOptions: { output: { hashCharacters: "hex", entryFileNames: "assets/[name]-[hash:16].js" } },
  },
  server: {
    proxy: Object.fromEntries(
      ["/api", "/exec", "/exp", "/imp", "/query", "/settings", "/warnings", "/metrics", "/ping"].map((path) => [
        path,
        process.env.ALMANAC_URL ?? "http://127.0.0.1:9000",
      ]),
    ),
  },
});
