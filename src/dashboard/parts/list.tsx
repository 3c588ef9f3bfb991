import type { ReactNode } from 'react';
import classes from './list.module.css';

interface ListProps {
  label: string;
  /** Names of the columns; one that is not shown, such as that of buttons, begins with a blank. */
  columns: readonly string[];
  /** Its rows. */
  children: ReactNode;
}

/** Records with the same few facts each. On a telephone the facts of a record stand below each other. */
export function List({ label, columns, children }: ListProps) {
  return (
    <div className={classes.frame}>
      <table className={classes.table} aria-label={label}>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                {name.startsWith(' ') ? <span className="unseen">{name.trim()}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/** A record: its cells in the order of the columns. */
export function ListRow({ cells }: { cells: readonly ReactNode[] }) {
  return (
    <tr>
      {cells.map((cell, at) => (
        <td key={at}>{cell}</td>
      ))}
    </tr>
  );
}
