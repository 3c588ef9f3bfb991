const minute = 60_000;

/**
 * Calls `act` at every full minute of the clock. Each wait is at most a minute long, whatever the clock does meanwhile: one that is set back or
 * forward delays the next beat by no more, and two beats are never in one wait. What is due at a beat is decided by rows and the database's time.
 * @param act is given the number of the beat, from 1; it must not throw
 * @returns how to end it
 */
export function everyMinute(act: (beat: number) => void): () => void {
  let timer: NodeJS.Timeout;
  let beats = 0;
  const wait = () => {
    timer = setTimeout(
      () => {
        beats += 1;
        act(beats);
        wait();
      },
      minute - (Date.now() % minute),
    );
  };
  wait();
  return () => clearTimeout(timer);
}

/**
 * Whether what is done once a night is due.
 * @param last day (`2026-11-23`, UTC) it was done for last; null: never. One beyond tomorrow was written under a clock that was wrong
 * @param at time of the night, UTC, as `03:17`. A night without a server is made up for
 */
export function isNightDue(last: string | null, at: string, now: Date): boolean {
  const [today = '', time = ''] = now.toISOString().split('T');
  if (time.slice(0, 5) < at) return false;
  const tomorrow = new Date(now.getTime() + 24 * 60 * minute).toISOString().slice(0, 10);
  return last === null || last < today || last > tomorrow;
}
