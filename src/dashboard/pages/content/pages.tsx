import { ActionIcon } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormats } from '../../lib/format.ts';
import classes from './content.module.css';

/** Entries on a page of a list. */
export const pageSize = 50;

interface PagesProps {
  total: number;
  shown: number;
  page: number;
  after: string | undefined;
  /** Cursor of the next page; null on the last one. */
  next: string | null;
}

/** Which part of a list is shown, and the way to those beside it. Lists lead forward only, so the way back is that by which one came. */
export function Pages({ total, shown, page, after, next }: PagesProps) {
  const { t } = useTranslation('content');
  const { number } = useFormats();
  const navigate = useNavigate();
  const visited = useRef(new Map<number, string | undefined>([[1, undefined]]));
  visited.current.set(page, after);
  const first = (page - 1) * pageSize + 1;
  const go = (to: number, cursor: string | undefined) => {
    navigate({
      to: '.',
      search: (before) => ({ ...before, after: cursor, page: to === 1 ? undefined : to }),
      resetScroll: true,
    });
    document.getElementById('page')?.focus({ preventScroll: true });
    scrollTo({ top: 0 });
  };
  const back = () => {
    const known = visited.current.has(page - 1);
    go(known ? page - 1 : 1, known ? visited.current.get(page - 1) : undefined);
  };
  if (total === 0 || (next === null && page === 1)) return null;
  return (
    <nav className={classes.pages} aria-label={t('pages')}>
      <span role="status">
        {t('range', { first: number(first), last: number(first + shown - 1), total: number(total) })}
      </span>
      <ActionIcon variant="default" size={32} aria-label={t('previous_page')} disabled={page === 1} onClick={back}>
        <IconChevronLeft size={16} className={classes.arrow} />
      </ActionIcon>
      <ActionIcon
        variant="default"
        size={32}
        aria-label={t('next_page')}
        disabled={next === null}
        onClick={() => next !== null && go(page + 1, next)}
      >
        <IconChevronRight size={16} className={classes.arrow} />
      </ActionIcon>
    </nav>
  );
}
