/** Script that keeps in `window.keyed` the milliseconds from each key until it was painted (Event Timing), which are reported from 16 on. */
export const keyObserver = `
window.keyed = [];
new PerformanceObserver((list) => {
  for (const { name, duration } of list.getEntries()) if (name === 'keydown') window.keyed.push(duration);
}).observe({ type: 'event', durationThreshold: 16 });
`;

/** The milliseconds of all keys: those that are not reported took at most 16. */
export const ofAllKeys = (reported: readonly number[], keys: number): number[] => [
  ...reported,
  ...Array<number>(Math.max(0, keys - reported.length)).fill(16),
];
