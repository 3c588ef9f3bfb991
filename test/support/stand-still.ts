/** Holds this process for so many milliseconds, with its timers and all its input, as a machine does that stands still. */
export const standStill = (milliseconds: number): void =>
  void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
