import type { FileHandle } from 'node:fs/promises';

/** The journal that is written to. */
export interface OpenJournal {
  place: string;
  file: FileHandle;
  /** Bytes so far. */
  size: number;
  /** It has been open for long, and is not written to any more once the present write is over. */
  isOld: boolean;
  /** Until what is in it has its names. */
  named: Promise<unknown>;
}

/** Writes pieces as they lie in memory. @returns bytes */
export async function appendPieces(file: FileHandle, pieces: Uint8Array[]): Promise<number> {
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  const { bytesWritten } = await file.writev(pieces);
  // What did not fit fails here, with its cause.
  if (bytesWritten < size) await file.appendFile(Buffer.concat(pieces).subarray(bytesWritten));
  return size;
}
