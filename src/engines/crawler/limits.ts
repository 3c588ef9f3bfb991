import type { FetchLimits } from '../../domain/ports/fetcher.ts';

const mebibyte = 1024 * 1024;

export const defaultLimits: FetchLimits = {
  body: 100 * mebibyte,
  read: 10 * mebibyte,
  connect: 10_000,
  headers: 30_000,
  idle: 15_000,
  total: 120_000,
};

/** Bodies up to this size on the wire are gathered in memory, larger ones flow to the disk; bytes. */
export const gatheredBytes = 256 * 1024;

/** So much of a body nobody wants is read to keep the connection; bytes. */
export const drainedBytes = 64 * 1024;

/** The most a body may decode to, given what came over the wire; bytes. A page compresses to a twentieth, a bomb to a thousandth. */
export const decodedAllowance = (wire: number): number => 100 * wire + 10 * mebibyte;
