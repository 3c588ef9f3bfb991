import { Skeleton } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import classes from './content.module.css';

/** Browsers take the roles from tables that are laid out as anything else, as these are on a telephone. */
export const cells = {
  table: { role: 'table' },
  header: { role: 'columnheader' },
  cell: { role: 'cell' },
} as const;
export const rows = { role: 'rowgroup' } as const;
export const row = { role: 'row' } as const;

/** The place of a table until its rows are there, in their height. */
export function WaitingRows({ count = 12 }: { count?: number }) {
  const { t } = useTranslation();
  return (
    <div className={classes.frame} aria-busy="true" role="status" aria-label={t('loading')}>
      <div className={classes.waitingHead} />
      {Array.from({ length: count }, (_, at) => (
        <div key={at} className={classes.waitingRow}>
          <Skeleton height={12} width={`${60 - ((at * 17) % 35)}%`} radius={4} />
        </div>
      ))}
    </div>
  );
}
