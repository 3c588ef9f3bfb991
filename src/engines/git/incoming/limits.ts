import { DomainError } from '../../../kernel/errors.ts';

/** What a repository may hold to be taken in: files of one tree, names in one path, bytes of one file, of one path and of all paths of one tree. */
export interface IncomingLimits {
  files: number;
  depth: number;
  blobBytes: number;
  pathBytes: number;
  listBytes: number;
}

export const defaultLimits: IncomingLimits = {
  files: 200_000,
  depth: 64,
  blobBytes: 100 * 1024 * 1024,
  // Linux opens no longer one (PATH_MAX), and no new file may have one.
  pathBytes: 4096,
  // A listing is held in memory: a few kilobytes of nested trees can stand for paths of many gigabytes.
  listBytes: 64 * 1024 * 1024,
};

/** A branch or tag with the object it is to hold. */
export interface Tip {
  /** As people say it: `main`. */
  name: string;
  oid: string;
}

export const tooManyFiles = ({ name }: Tip, { files }: IncomingLimits) =>
  new DomainError('too_large', `${name} holds more than ${files} files`);

export const tooDeep = ({ name }: Tip, { depth }: IncomingLimits) =>
  new DomainError('too_large', `${name} has a path of more than ${depth} names`);

export const tooLong = ({ name }: Tip, { pathBytes }: IncomingLimits) =>
  new DomainError('too_large', `${name} has a path of more than ${pathBytes} bytes`);

export const tooMuchToList = ({ name }: Tip, { listBytes }: IncomingLimits) =>
  new DomainError('too_large', `${name} has paths of more than ${sizeText(listBytes)} together`);

export const tooWide = ({ name }: Tip) =>
  new DomainError(
    'too_large',
    `${name} has a directory of so many files, or so long names, that its list is larger than 100 MiB`,
  );

export const tooLarge = (path: string, { blobBytes }: IncomingLimits) =>
  new DomainError('too_large', `${path} is larger than ${sizeText(blobBytes)}`);

function sizeText(bytes: number): string {
  const mebibytes = bytes / 1024 / 1024;
  return Number.isInteger(mebibytes) ? `${mebibytes} MiB` : `${bytes} bytes`;
}
