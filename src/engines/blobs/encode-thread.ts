import { readFileSync, readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import path from 'node:path';
import { type CodingJob, findCodings, packCodings } from './codings.ts';
import { absentAs } from './failures.ts';
import { answerJobs } from './job-thread.ts';
import { writeSmall } from './small-files.ts';

/** Lowers the priority of this thread: in Linux each thread has its own (setpriority(2)). */
function giveWay(): void {
  try {
    setPriority(Number(path.basename(readlinkSync('/proc/thread-self'))), constants.priority.PRIORITY_LOW);
  } catch {
    // A system that has no such thing.
  }
}

function read(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch (error) {
    return absentAs(null)(error);
  }
}

/** Makes what is not there yet, or not whole. @returns false when there is no such blob */
function encode({ blob, place, aside }: CodingJob): boolean {
  const before = read(place);
  if (before && findCodings(before) !== null) return true;
  const content = read(blob);
  if (content === null) return false;
  writeSmall(aside, place, packCodings(content));
  return true;
}

giveWay();
answerJobs(encode);
