/** A figure that has to be reached. */
export interface Goal {
  name: string;
  value: number;
  unit: string;
  /** Exactly one of the two. */
  atMost?: number;
  atLeast?: number;
}

/** What one benchmark found, ready to be printed. */
export interface Report {
  columns: readonly string[];
  /** Cells as they are shown; numbers are rounded to three significant digits. */
  rows: readonly (readonly (string | number)[])[];
  goals: readonly Goal[];
  /** What a reader has to know to judge the figures. */
  notes: readonly string[];
}

/** What a run gets: a place for its files, and a way to have things ended whatever happens. */
export interface Bench {
  /** Runs in reverse order at the end of the benchmark, also after a failure or Ctrl-C. */
  defer(end: () => Promise<void> | void): void;
  /** A new directory that is removed at the end. */
  directory(): Promise<string>;
  /** Tells a waiting person what goes on. */
  say(text: string): void;
}

export interface Benchmark {
  name: string;
  /** One sentence for the list of benchmarks. */
  summary: string;
  run(bench: Bench): Promise<Report>;
}

export const isReached = ({ value, atMost, atLeast }: Goal): boolean =>
  (atMost === undefined || value <= atMost) && (atLeast === undefined || value >= atLeast);
