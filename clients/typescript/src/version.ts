/** The version of this package, which is that of the service. */
export const VERSION = "0.1.0";
