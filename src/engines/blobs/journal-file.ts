import type { FileHandle } from 'node:fs/promises';

/** The journal that is written to. */
export interface OpenJournal {
  place: string;
  file: FileHandle;
  /** Bytes so far. */
  size: number;
}

/** Writes pieces as they lie in memory. @returns bytes */
export async function appendPieces(file: FileHandle, pieces: Uint8Array[]): Promise<number> {
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  const { bytesWritten } = await file.writev(pieces);
  // What did not fit fails here, with its cause.
  if (bytesWritten < size) await file.appendFile(Buffer.concat(pieces).subarray(bytesWritten));
  return size;
}
