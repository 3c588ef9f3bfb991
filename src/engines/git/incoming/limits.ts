import { DomainError } from '../../../kernel/errors.ts';

/**
 * What a repository may hold: files of one tree, files and directories of one tree, names in one path, bytes of one file, of one path and of all
 * paths of one tree, those of directories too; and bytes of all files of one push that are judged by what they hold.
 */
export interface TreeLimits {
  files: number;
  entries: number;
  depth: number;
  blobBytes: number;
  pathBytes: number;
  listBytes: number;
  judgedBytes: number;
}

export const defaultLimits: TreeLimits = {
  files: 200_000,
  // A listing goes through directories as well, and reads no more than this.
  entries: 300_000,
  depth: 64,
  blobBytes: 100 * 1024 * 1024,
  // Linux opens no longer one (PATH_MAX), and no new file may have one.
  pathBytes: 4096,
  // A listing is held in memory: a few kilobytes of nested trees can stand for paths of many gigabytes.
  listBytes: 64 * 1024 * 1024,
  // Zeros take a thousandth of that on their way here, and minutes to inflate.
  judgedBytes: 4 * 1024 ** 3,
};

/** A branch or tag with the object it is to hold. */
export interface Tip {
  /** As people say it: `main`. */
  name: string;
  oid: string;
  /** The full name of what leads to it then, and still leads to what was there before. */
  ref?: string;
}

type Holder = Pick<Tip, 'name'>;

export const tooManyFiles = ({ name }: Holder, { files }: TreeLimits) =>
  new DomainError('too_large', `${name} holds more than ${files} files; remove some of them first`);

export const tooManyEntries = ({ name }: Holder, { entries }: TreeLimits) =>
  new DomainError(
    'too_large',
    `${name} holds more than ${entries} files and directories; remove some, or put more files into each directory`,
  );

export const tooDeep = ({ name }: Holder, { depth }: TreeLimits) =>
  new DomainError('too_large', `${name} has a path of more than ${depth} names`);

export const tooLong = ({ name }: Holder, { pathBytes }: TreeLimits) =>
  new DomainError('too_large', `${name} has a path of more than ${pathBytes} bytes`);

export const tooMuchToList = ({ name }: Holder, { listBytes }: TreeLimits) =>
  new DomainError(
    'too_large',
    `${name} has paths of more than ${sizeText(listBytes)} together; remove files, or shorten the names of directories`,
  );

export const tooWide = ({ name }: Holder) =>
  new DomainError(
    'too_large',
    `${name} has a directory of so many files, or so long names, that its list is larger than 100 MiB`,
  );

export const tooLarge = (path: string, { blobBytes }: TreeLimits) =>
  new DomainError('too_large', `${path} is larger than ${sizeText(blobBytes)}`);

export function sizeText(bytes: number): string {
  const mebibytes = bytes / 1024 / 1024;
  return Number.isInteger(mebibytes) ? `${mebibytes} MiB` : `${bytes} bytes`;
}
