import type { IOType } from 'node:child_process';
import { openSync, readdirSync, readFileSync } from 'node:fs';

/** Set on what a program does not pass on (fcntl(2)); /proc shows flags in octal. */
const closeOnExec = 0o2000000;

function isPassedOn(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    return false;
  }
}

let known: (IOType | number)[] | undefined;

/**
 * What `stdio` of a child has to hold from index `first` on, so that nothing reaches it that this server was itself given by whoever
 * started it: such a descriptor is replaced by /dev/null. Node opens all its own to be closed.
 */
export function withoutInherited(first: number): (IOType | number)[] {
  if (known) return known;
  const names = (() => {
    try {
      return readdirSync('/proc/self/fd');
    } catch {
      return [];
    }
  })();
  const passedOn = new Set(names.map(Number).filter((descriptor) => descriptor >= first && isPassedOn(descriptor)));
  const nothing = passedOn.size > 0 ? openSync('/dev/null', 'r') : -1;
  const length = Math.max(first - 1, ...passedOn) - first + 1;
  known = Array.from({ length }, (_, index) => (passedOn.has(first + index) ? nothing : 'ignore'));
  return known;
}
