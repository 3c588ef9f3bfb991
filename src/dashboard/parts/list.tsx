import { createContext, type ReactNode, useContext } from 'react';
import classes from './list.module.css';

interface ListProps {
  label: string;
  /** Names of the columns; one that is not shown, such as that of buttons, begins with a blank. */
  columns: readonly string[];
  /** Its rows. */
  children: ReactNode;
}

const Columns = createContext<readonly string[]>([]);

/** Records with the same few facts each. On a telephone the facts of a record stand below its name, each with that of its column. */
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
        <Columns value={columns}>
          <tbody>{children}</tbody>
        </Columns>
      </table>
    </div>
  );
}

/** A record: its cells in the order of the columns, that of its name first. */
export function ListRow({ cells }: { cells: readonly ReactNode[] }) {
  const columns = useContext(Columns);
  return (
    <tr>
      {cells.map((cell, at) => {
        const name = columns[at]?.startsWith(' ') ? undefined : columns[at];
        return (
          <td key={at} data-column={at === 0 ? undefined : name}>
            {cell}
          </td>
        );
      })}
    </tr>
  );
}
