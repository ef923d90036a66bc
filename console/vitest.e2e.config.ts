import { defineConfig } from "vitest/config";

/* Real server, real browser. One file after the other: each starts a server and shares two cores with it. */
export default defineConfig({
  test: {
    include: ["e2e/**/*.test.ts"],
    exclude: process.env.ALM_TEST_ALL ? [] : ["e2e/**/*.long.test.ts"],
    environment: "node",
    fileParallelism: false,
    /*
     * A browser on a machine that is busy with more has a bad moment now and then. What fails twice is a fault; what
     * needed the second try is named.
     */
    retry: 1,
    expect: { poll: { timeout: 15_000 } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
