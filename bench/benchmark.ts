import { median, quantile } from './support/statistics.ts';

/** The same work done another way, in the same run. */
export interface Peer {
  name: string;
  value: number;
}

/** One figure: what was measured, what it is held against, and what stands beside it. */
export interface Case {
  name: string;
  /** `ms`, `s`, `MiB`, `%`, `×`, or something per second, which is better when it is more. */
  unit: string;
  /** A median, unless the name says otherwise. */
  value: number;
  p95?: number;
  /** How often it was measured. */
  runs?: number;
  peers?: readonly Peer[];
  /** At most one of the two. */
  atMost?: number;
  atLeast?: number;
}

/** What one benchmark found, ready to be printed. */
export interface Report {
  cases: readonly Case[];
  /** What a reader has to know to judge the figures. */
  notes: readonly string[];
}

/** What a run gets: how much to do, a place for its files, and a way to have things ended whatever happens. */
export interface Bench {
  /** Also the cases that take minutes (`--large`). */
  large: boolean;
  /** Sizes of sites to crawl in place of the usual ones (`--pages`). */
  pages: readonly number[] | null;
  /** What the names of the cases must contain (`--only`). */
  only: string | null;
  /** Directory of sites that are only read (`--corpus`). */
  corpus: string | null;
  /** How many of something to take: as many as given, or with `--small` a twentieth, at least `least`. */
  scaled(count: number, least?: number): number;
  /** Runs in reverse order at the end of the benchmark, also after a failure or Ctrl-C. */
  defer(end: () => Promise<void> | void): void;
  /** A new directory that is removed at the end. */
  directory(): Promise<string>;
  /** Prints the progress. */
  say(text: string): void;
}

export interface Benchmark {
  name: string;
  /** One sentence for the list of benchmarks. */
  summary: string;
  /** How long it may take; 10, with `--large` 30. */
  minutes?: number;
  run(bench: Bench): Promise<Report>;
}

/** Milliseconds of repeated work as a case; peers by their samples. */
export function timedCase(
  name: string,
  samples: readonly number[],
  {
    beside = {},
    ...limit
  }: { beside?: Record<string, readonly number[]> } & Partial<Pick<Case, 'atMost' | 'atLeast'>> = {},
): Case {
  const peers = Object.entries(beside).map(([peer, found]) => ({ name: peer, value: median(found) }));
  const figures = { value: median(samples), p95: quantile(samples, 0.95), runs: samples.length };
  return { name, unit: 'ms', ...figures, ...(peers.length > 0 && { peers }), ...limit };
}

/** False also for a figure that is no number: what was not measured is not reached. */
export const isReached = ({ value, atMost, atLeast }: Case): boolean =>
  Number.isFinite(value) && (atMost === undefined || value <= atMost) && (atLeast === undefined || value >= atLeast);

/** How many times as good as the peer a figure is. */
export const timesAsGood = ({ value, unit }: Case, peer: Peer): number =>
  unit.endsWith('/s') || unit === '%' ? value / peer.value : peer.value / value;

/** Throws unless it holds: a benchmark whose work came out wrong has measured nothing. */
export function check(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise);
}
