// Says where libweir.so is: in WEIR_LIB_DIR, or where `make install-library` puts it.
fn main() {
    println!("cargo:rerun-if-env-changed=WEIR_LIB_DIR");
    let directory = std::env::var("WEIR_LIB_DIR").unwrap_or_else(|_| "/usr/local/lib".into());
    println!("cargo:rustc-link-search=native={directory}");
}
