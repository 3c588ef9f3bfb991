import { IconFile, IconFolder, IconFolderSymlink } from '@tabler/icons-react';
import { Link, useSearch } from '@tanstack/react-router';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useLayoutEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { FilesPageQuery } from '../../documents.ts';
import { useFormats } from '../../lib/format.ts';
import { usePlace } from '../../lib/place.ts';
import { MarkedText } from '../../parts/marked-text.tsx';
import classes from './files.module.css';

type Item = NonNullable<NonNullable<NonNullable<FilesPageQuery['project']>['studio']>['filetree']>['tree'][number];

const rowHeight = 36;
const nameOf = ({ path }: Item): string => path.slice(path.lastIndexOf('/') + 1);

/** Directories first, then by name, numbers in their order. */
const { compare } = new Intl.Collator('en', { numeric: true });
const inOrder = (items: readonly Item[]): Item[] =>
  items.toSorted((one, other) =>
    (one.type === 'tree') === (other.type === 'tree')
      ? compare(nameOf(one), nameOf(other))
      : one.type === 'tree'
        ? -1
        : 1,
  );

/** What a directory holds; only the rows in sight are there, as it may be tens of thousands. */
export function Directory({
  directory,
  items,
  open,
}: {
  directory: string;
  items: readonly Item[];
  open: string | undefined;
}) {
  const { t } = useTranslation('files');
  const list = useRef<HTMLUListElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => setTop(list.current?.offsetTop ?? 0), []);
  const rows = inOrder(items);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowHeight,
    overscan: 20,
    scrollMargin: top,
  });
  return (
    <ul
      ref={list}
      className={classes.list}
      aria-label={t('in_directory', { path: directory === '' ? t('root') : directory })}
      style={{ height: virtual.getTotalSize() }}
    >
      {virtual.getVirtualItems().map(({ index, start }) => {
        const item = rows[index];
        return (
          item && (
            <li
              key={item.path}
              aria-posinset={index + 1}
              aria-setsize={rows.length}
              style={{ transform: `translateY(${start - top}px)` }}
            >
              <Row item={item} isOpen={nameOf(item) === open} directory={directory} />
            </li>
          )
        );
      })}
    </ul>
  );
}

function Row({ item, isOpen, directory }: { item: Item; isOpen: boolean; directory: string }) {
  const { t } = useTranslation('files');
  const { bytes } = useFormats();
  const place = usePlace();
  const { version } = useSearch({ strict: false });
  const name = nameOf(item);
  const label = (
    <span className={classes.name}>
      <MarkedText text={name} />
    </span>
  );
  if (item.type === 'commit')
    return (
      <span className={classes.row} title={t('submodule')}>
        <IconFolderSymlink size={16} stroke={1.6} aria-hidden />
        {label}
      </span>
    );
  const isDirectory = item.type === 'tree';
  return (
    <Link
      to="/p/$organization/$project/files/$"
      params={{ ...place, _splat: isDirectory ? item.path : directory }}
      search={{ draft: place.draft, version, file: isDirectory ? undefined : name }}
      className={classes.row}
      aria-current={isOpen || undefined}
    >
      {isDirectory ? (
        <IconFolder size={16} stroke={1.6} aria-hidden />
      ) : (
        <IconFile size={16} stroke={1.6} aria-hidden />
      )}
      {label}
      <span className={classes.size}>{item.size == null ? '' : bytes(item.size)}</span>
    </Link>
  );
}
