import { median, timed } from './statistics.ts';

/** What writers at once went through. */
export interface Writing {
  /** Of each writer, the milliseconds every one of its commits took. */
  waits: number[][];
  perSecond: number;
  /** Longest wait of a writer by that writer's median; of all writers the worst. */
  unfairness: number;
}

/** Lets writers work at the same time, each beginning its next write when the last one is answered. */
export async function concurrentWriters(
  writers: number,
  each: number,
  write: (writer: number, turn: number) => Promise<void>,
): Promise<Writing> {
  const waits: number[][] = Array.from({ length: writers }, () => []);
  const total = await timed(() =>
    Promise.all(
      waits.map(async (own, writer) => {
        for (let turn = 0; turn < each; turn += 1) own.push(await timed(() => write(writer, turn)));
      }),
    ),
  );
  return {
    waits,
    perSecond: (1000 * writers * each) / total,
    unfairness: Math.max(...waits.map((own) => Math.max(...own) / median(own))),
  };
}
