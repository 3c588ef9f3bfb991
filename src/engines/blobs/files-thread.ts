import { readSync } from 'node:fs';
import { answerJobs } from './job-thread.ts';
import { recordsOf } from './journal.ts';
import { type FilesJob, writeSmall } from './small-files.ts';

/** For the records of one job after the other: memory that is let go again and again has to be collected. */
let room = Buffer.alloc(0);

function readAt(file: number, at: number, size: number): Buffer {
  if (room.length < size) room = Buffer.allocUnsafeSlow(size);
  const bytes = room.subarray(0, size);
  for (let done = 0; done < size; ) {
    const read = readSync(file, bytes, done, size - done, at + done);
    if (read === 0) throw new Error('a journal of blobs is shorter than what was written to it');
    done += read;
  }
  return bytes;
}

answerJobs(({ file, at, size, places, aside }: FilesJob): number => {
  let written = 0;
  for (const { content } of recordsOf(readAt(file, at, size))) {
    writeSmall(aside, places[written] ?? '', content);
    written += 1;
  }
  return written;
});
