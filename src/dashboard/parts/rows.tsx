import type { ReactNode } from 'react';
import classes from './rows.module.css';

/** A short list of records that one acts on, each in a row of its own. */
export function Rows({ label, children }: { label: string; children: ReactNode }) {
  return (
    <ul className={classes.rows} aria-label={label}>
      {children}
    </ul>
  );
}

interface RowProps {
  /** A picture in front of it. */
  lead?: ReactNode;
  title: ReactNode;
  /** Short facts behind the title. */
  marks?: ReactNode;
  /** Further facts, in a line below. */
  detail?: ReactNode;
  actions?: ReactNode;
}

export function Row({ lead, title, marks, detail, actions }: RowProps) {
  return (
    <li className={classes.row}>
      {lead}
      <div className={classes.text}>
        <div className={classes.head}>
          <span className={classes.title} dir="auto">
            {title}
          </span>
          {marks}
        </div>
        {detail && <div className={classes.detail}>{detail}</div>}
      </div>
      {actions && <div className={classes.actions}>{actions}</div>}
    </li>
  );
}
