/** The part of autocannon 8 used here; it brings no types. */
declare module 'autocannon' {
  interface Options {
    url: string;
    connections: number;
    /** Seconds. */
    duration: number;
    headers?: Record<string, string>;
    method?: 'POST';
    body?: string;
  }
  interface Result {
    requests: { average: number; total: number };
    /** Milliseconds. */
    latency: { p50: number; p99: number; max: number };
    '2xx': number;
    non2xx: number;
    errors: number;
    /** Seconds the run really took. */
    duration: number;
  }
  export default function autocannon(options: Options): Promise<Result>;
}
